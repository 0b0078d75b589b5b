// SPDX-License-Identifier: Apache-2.0
// A saver as somebody writes one round a library that wants a separate file: it fills a scratch file through fopen,
// copies that into the checkpoint, and knows nothing of checksums, syncs, renames and damage.
#include <belay/plugin.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace {

using belay::Code;
using belay::fail;

// It is gone as soon as no process has it open.
class ScratchFile {
 public:
  ScratchFile() {
    static int count = 0;
    const std::string path = (std::filesystem::temp_directory_path() /
                              ("belay_stdio_" + std::to_string(getpid()) + "_" + std::to_string(++count)))
                                 .string();
    file_.reset(std::fopen(path.c_str(), "w+b"));
    if (file_ == nullptr) fail(Code::kUnavailable, "cannot open '" + path + "'");
    std::remove(path.c_str());
  }
  std::FILE* get() const { return file_.get(); }
  void write(const void* data, std::size_t size) const {
    if (size != 0 && std::fwrite(data, 1, size, get()) != size) fail(Code::kUnavailable, "the scratch file is full");
  }
  // The buffer is written here, and that may fail; std::rewind would not report it.
  void rewind() const {
    if (std::fseek(get(), 0, SEEK_SET) != 0 || std::ferror(get()) != 0)
      fail(Code::kUnavailable, "the scratch file is full");
  }
  void read(void* data, std::size_t size) const {
    if (size != 0 && std::fread(data, 1, size, get()) != size) fail(Code::kDataLoss, "tensors.stdio ends early");
  }

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

class StdioSaver final : public belay::Saver {
 public:
  static constexpr auto about = belay::about("stdio_saver", "Writes tensors through the C library's files");

  void write(belay::Directory& directory, const belay::TensorSource& tensors) override {
    const ScratchFile scratch;
    std::fprintf(scratch.get(), "%llu\n", static_cast<unsigned long long>(tensors.count()));
    for (std::uint64_t i = 0; i < tensors.count(); ++i) {
      const auto [name, view] = tensors.get(i);
      std::fprintf(scratch.get(), "%s %d %d", std::string(name).c_str(), static_cast<int>(view.dtype()), view.rank());
      for (const std::int64_t d : view.dims()) std::fprintf(scratch.get(), " %lld", static_cast<long long>(d));
      std::fprintf(scratch.get(), "\n");
      scratch.write(view.data(), view.bytes());
    }
    scratch.rewind();
    belay::File file = directory.create("tensors.stdio");
    std::vector<char> piece(1 << 16);
    for (std::size_t n; (n = std::fread(piece.data(), 1, piece.size(), scratch.get())) > 0;)
      file.write(piece.data(), n);
    if (std::ferror(scratch.get()) != 0) fail(Code::kUnavailable, "the scratch file cannot be read");
    file.close();
  }

  void read(belay::Directory& directory, belay::TensorSink& tensors) override {
    const ScratchFile scratch;
    copy(directory.open("tensors.stdio"), scratch);
    unsigned long long count = 0;
    if (std::fscanf(scratch.get(), "%llu", &count) != 1) fail(Code::kDataLoss, "tensors.stdio has no count");
    for (; count > 0; --count) {
      char name[256];
      int dtype = 0, rank = 0;
      if (std::fscanf(scratch.get(), "%255s %d %d", name, &dtype, &rank) != 3 || rank < 0 || rank > 32)
        fail(Code::kDataLoss, "tensors.stdio is damaged");
      std::uint64_t bytes = belay::dtype_size(static_cast<belay::DType>(dtype));
      belay::Dims dims;
      for (long long d = 0; rank > 0; --rank) {
        if (std::fscanf(scratch.get(), "%lld", &d) != 1) fail(Code::kDataLoss, "tensors.stdio is damaged");
        dims.push_back(d);
        bytes *= static_cast<std::uint64_t>(d);
      }
      std::fgetc(scratch.get());  // the line's end
      if (void* memory = tensors.found(name, static_cast<belay::DType>(dtype), dims))
        scratch.read(memory, bytes);
      else
        std::fseek(scratch.get(), static_cast<long>(bytes), SEEK_CUR);
    }
  }

 private:
  static void copy(const belay::File& file, const ScratchFile& scratch) {
    std::vector<char> piece(1 << 16);
    for (std::uint64_t at = 0, size = file.size(); at < size;) {
      const std::uint64_t n = std::min<std::uint64_t>(piece.size(), size - at);
      file.read_at(at, piece.data(), n);
      scratch.write(piece.data(), n);
      at += n;
    }
    scratch.rewind();
  }
};

}  // namespace

BELAY_MODULE("1.0.0", StdioSaver)
