// SPDX-License-Identifier: Apache-2.0
// A directory in memory, and the tensors of one checkpoint: services "files" and "saver" for a saver's test.
//
//   FakeHost host;
//   FakeFiles files(host);
//   files.contents["model.bin"].resize(10);   // a truncated file
//   files.fill_up_after(100);                 // the disk is full after 100 more bytes
//
// SaverDriver (saver_driver.h) combines both; use these alone for other tests. The rules of the real host apply here
// too. A name has no '/', create refuses an existing file, a read past the end is DATA_LOSS, and a tensor is announced
// once.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/testing/fake_host.h"

namespace belay {
inline namespace v0 {
namespace testing {

class FakeFiles {
 public:
  // Offers service "files" to the host's instances, as long as both live.
  explicit FakeFiles(FakeHost& host) : host_(&host) { host.set_service("files", &kFiles); }
  FakeFiles(const FakeFiles&) = delete;
  FakeFiles& operator=(const FakeFiles&) = delete;
  ~FakeFiles() { close_all(); }

  // The files by name; a test may read and change them.
  std::map<std::string, std::string> contents;

  // Makes every write fail with RESOURCE_EXHAUSTED after `bytes` more bytes. std::nullopt ends it.
  void fill_up_after(std::optional<std::uint64_t> bytes) { room_ = bytes; }
  // Names of the files that are still open.
  std::vector<std::string> open_files() const {
    std::vector<std::string> names;
    for (const OpenFile* f : open_) names.push_back(f->name);
    return names;
  }
  void close_all() {
    for (const OpenFile* f : open_) delete f;
    open_.clear();
  }
  belay_dir* raw() noexcept { return reinterpret_cast<belay_dir*>(this); }

 private:
  struct OpenFile {
    FakeFiles* dir;
    std::string name;
    bool writing;
  };

  static FakeFiles& from(belay_dir* dir) noexcept { return *reinterpret_cast<FakeFiles*>(dir); }
  static OpenFile& from(belay_file* file) noexcept { return *reinterpret_cast<OpenFile*>(file); }

  static std::string checked_name(belay_str name) {
    std::string text(belay::detail::view(name));
    if (text.empty() || text == "." || text == ".." || text.find('/') != std::string::npos ||
        text.find('\0') != std::string::npos)
      fail(Code::kInvalidArgument, "'" + text + "' is no file name");
    return text;
  }
  belay_file* opened(std::string name, bool writing) {
    auto* file = new OpenFile{this, std::move(name), writing};
    open_.insert(file);
    return reinterpret_cast<belay_file*>(file);
  }

  static std::int32_t create(belay_dir* dir, belay_str name, belay_file** file, belay_status* status) {
    return belay::detail::guard(status, [&] {
      from(dir).host_->require_thread("files.create");
      std::string text = checked_name(name);
      if (!from(dir).contents.emplace(text, "").second)
        fail(Code::kAlreadyExists, "cannot create '" + text + "': it exists already");
      *file = from(dir).opened(std::move(text), true);
    });
  }
  static std::int32_t open(belay_dir* dir, belay_str name, belay_file** file, belay_status* status) {
    return belay::detail::guard(status, [&] {
      from(dir).host_->require_thread("files.open");
      std::string text = checked_name(name);
      if (from(dir).contents.count(text) == 0) fail(Code::kNotFound, "cannot open '" + text + "': no such file");
      *file = from(dir).opened(std::move(text), false);
    });
  }
  static std::int32_t write(belay_file* file, const void* data, std::uint64_t size, belay_status* status) {
    return belay::detail::guard(status, [&] {
      const OpenFile& f = from(file);
      f.dir->host_->require_thread("files.write");
      if (!f.writing) fail(Code::kFailedPrecondition, "'" + f.name + "' is open for reading");
      auto& room = f.dir->room_;
      if (room && *room < size) {
        room = 0;
        fail(Code::kResourceExhausted, "cannot write '" + f.name + "': No space left on device");
      }
      if (room) *room -= size;
      if (size != 0) f.dir->contents[f.name].append(static_cast<const char*>(data), static_cast<std::size_t>(size));
    });
  }
  static std::int32_t size(belay_file* file, std::uint64_t* size, belay_status* status) {
    return belay::detail::guard(status, [&] { *size = from(file).dir->contents[from(file).name].size(); });
  }
  static std::int32_t read_at(belay_file* file, std::uint64_t offset, void* data, std::uint64_t size,
                              belay_status* status) {
    return belay::detail::guard(status, [&] {
      from(file).dir->host_->require_thread("files.read_at");
      const std::string& bytes = from(file).dir->contents[from(file).name];
      if (offset > bytes.size() || size > bytes.size() - offset)
        fail(Code::kDataLoss, "'" + from(file).name + "' ends at byte " + std::to_string(bytes.size()) + "; " +
                                  std::to_string(size) + " bytes were wanted at " + std::to_string(offset));
      if (size != 0) std::memcpy(data, bytes.data() + offset, static_cast<std::size_t>(size));
    });
  }
  static std::int32_t close(belay_file* file, belay_status*) {
    OpenFile* f = &from(file);
    f->dir->open_.erase(f);
    delete f;
    return BELAY_OK;
  }

  static constexpr belay_files_api kFiles{sizeof(belay_files_api), 0,
                                          &FakeFiles::create,      &FakeFiles::open,
                                          &FakeFiles::write,       &FakeFiles::size,
                                          &FakeFiles::read_at,     &FakeFiles::close};

  FakeHost* host_;
  std::optional<std::uint64_t> room_;
  std::set<OpenFile*> open_;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// The tensors that a saver writes, or the memory into which it reads. That memory is filled with 0xa5, so an unwritten
// element is visible.
class FakeTensors {
 public:
  // Takes the tensors to write.
  explicit FakeTensors(NamedTensors tensors) : writing_(true), tensors_(std::move(tensors)) {}
  // Collects the tensors that are read. `wanted`: only these get memory.
  explicit FakeTensors(std::optional<std::set<std::string>> wanted) : wanted_(std::move(wanted)) {}
  static void offer(FakeHost& host) { host.set_service("saver", &kSaver); }

  belay_tensors* raw() noexcept { return reinterpret_cast<belay_tensors*>(this); }
  // Every announced name, in order.
  const std::vector<std::string>& announced() const noexcept { return announced_; }
  // Copies strings from the saver's memory, so call it before the saver's next call.
  const NamedTensors& tensors() {
    for (const auto& [i, views] : texts_)
      for (std::size_t s = 0; s < views.size(); ++s) tensors_[i].second.set_text(s, belay::detail::view(views[s]));
    texts_.clear();
    return tensors_;
  }

 private:
  static FakeTensors& from(belay_tensors* t) noexcept { return *reinterpret_cast<FakeTensors*>(t); }

  static std::uint64_t count(belay_tensors* t) { return from(t).writing_ ? from(t).tensors_.size() : 0; }
  static std::int32_t get(belay_tensors* t, std::uint64_t i, belay_str* name, belay_tensor* tensor,
                          belay_status* status) {
    return belay::detail::guard(status, [&] {
      FakeTensors& self = from(t);
      if (!self.writing_) fail(Code::kFailedPrecondition, "get belongs to write; read announces with found");
      if (i >= self.tensors_.size()) fail(Code::kInvalidArgument, "there is no tensor " + std::to_string(i));
      const auto& [key, value] = self.tensors_[static_cast<std::size_t>(i)];
      *name = belay::detail::str(key);
      *tensor = value.view();
    });
  }
  static std::int32_t found(belay_tensors* t, belay_str name, std::int32_t dtype, std::int32_t rank,
                            const std::int64_t* dims, void** data, belay_status* status) {
    return belay::detail::guard(status,
                                [&] { *data = from(t).announce(belay::detail::view(name), dtype, rank, dims); });
  }
  void* announce(std::string_view name, std::int32_t dtype, std::int32_t rank, const std::int64_t* dims) {
    if (writing_) fail(Code::kFailedPrecondition, "found belongs to read; write asks with get");
    const std::string key(name);
    for (const std::string& known : announced_)
      if (known == key) fail(Code::kAlreadyExists, "'" + key + "' is announced twice");
    const auto type = static_cast<DType>(dtype);
    if (type == DType::kInvalid) {
      if (wanted_ && wanted_->count(key) != 0)
        fail(Code::kUnimplemented, "'" + key + "' is of a type that belay does not have");
      announced_.push_back(key);
      return nullptr;
    }
    if (dtype_size(type) == 0) fail(Code::kInvalidArgument, "'" + key + "' has no dtype that belay has");
    std::uint64_t bytes = dtype_size(type);
    for (std::int32_t i = 0; i < rank; ++i) {
      if (dims[i] < 0) fail(Code::kInvalidArgument, "'" + key + "' has a negative dimension");
      if (dims[i] != 0 && bytes > kMaxBytes / static_cast<std::uint64_t>(dims[i]))
        fail(Code::kInvalidArgument, "'" + key + "' is larger than 1 GiB");
      bytes *= static_cast<std::uint64_t>(dims[i]);
    }
    announced_.push_back(key);
    if (wanted_ && wanted_->count(key) == 0) return nullptr;
    tensors_.emplace_back(key, Tensor(type, rank == 0 ? Dims{} : Dims(dims, dims + rank)));
    if (type == DType::kString) return views_to_fill();
    void* memory = tensors_.back().second.view().data;
    if (bytes != 0) std::memset(memory, 0xa5, static_cast<std::size_t>(bytes));
    return memory != nullptr ? memory : static_cast<void*>(this);  // an empty tensor is wanted too
  }

  // Views of the tensor that was found last.
  void* views_to_fill() {
    const std::size_t i = tensors_.size() - 1;
    auto& views = texts_[i];
    views.assign(tensors_[i].second.size(), belay::detail::str("not written"));
    return views.empty() ? static_cast<void*>(this) : views.data();
  }

  static constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;
  static constexpr belay_saver_service kSaver{sizeof(belay_saver_service), 0, &FakeTensors::count, &FakeTensors::get,
                                              &FakeTensors::found};

  bool writing_ = false;
  std::optional<std::set<std::string>> wanted_;
  NamedTensors tensors_;
  std::map<std::size_t, std::vector<belay_str>> texts_;  // of string tensors, until tensors() copies them
  std::vector<std::string> announced_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
