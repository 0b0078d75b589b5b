// SPDX-License-Identifier: Apache-2.0
// The saver "safetensors" writes all variables into model.safetensors, or into several files and an index. Other
// readers of the format can read them.
#include <belay/file_kind.h>
#include <belay/plugin.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "header.h"
#include "shard_index.h"

namespace {

using belay::Code;
using belay::DType;
using belay::fail;
using belay_safetensors::Entry;
using belay_safetensors::WeightMap;

constexpr std::string_view kFile = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";
// Messages name the file so. It may have another name, which the host adds.
constexpr const char* kAnyFile = "the .safetensors file";

// An open .safetensors file; `what` begins its messages.
class TensorFile {
 public:
  TensorFile(belay::File file, std::string what) : file_(std::move(file)), what_(std::move(what)) { read_header(); }

  const std::vector<Entry>& entries() const { return entries_; }

  void announce(const Entry& e, belay::TensorSink& tensors) const {
    void* memory = tensors.found(e.name, e.dtype, e.dims);
    if (memory == nullptr || e.begin == e.end) return;
    file_.read_at(data_ + e.begin, memory, e.end - e.begin);
    if (e.dtype == DType::kBool) check_bools(e, static_cast<const unsigned char*>(memory));
  }

 private:
  [[noreturn]] void damaged(const std::string& text) const { fail(Code::kDataLoss, "[B4040] " + what_ + " " + text); }

  void read_header() {
    const std::uint64_t size = file_.size();
    if (size < belay_safetensors::kLengthBytes)
      damaged("has " + std::to_string(size) + " bytes; the length of the header alone has 8");
    unsigned char length_bytes[belay_safetensors::kLengthBytes];
    file_.read_at(0, length_bytes, sizeof(length_bytes));
    std::uint64_t length = 0;
    for (int i = 7; i >= 0; --i) length = length << 8 | length_bytes[i];
    const std::uint64_t room = size - belay_safetensors::kLengthBytes;
    const std::string stated = "states at byte 0 that its header has " + std::to_string(length) + " bytes";
    if (length > belay_safetensors::kMaxHeader) refuse_length(stated + "; at most 100000000 are allowed");
    if (length > room) refuse_length(stated + ", but only " + std::to_string(room) + " follow");
    std::string json(static_cast<std::size_t>(length), '\0');
    file_.read_at(belay_safetensors::kLengthBytes, json.data(), length);
    data_ = belay_safetensors::kLengthBytes + length;
    try {
      entries_ = belay_safetensors::parse_header(json, size - data_);
    } catch (const belay::Error& e) {
      fail(e.code(), what_ + ": " + e.what());
    }
  }

  // The file is usually another program's, with a name of this format.
  [[noreturn]] void refuse_length(const std::string& stated) const {
    std::string begin(static_cast<std::size_t>(std::min<std::uint64_t>(file_.size(), 512)), '\0');
    file_.read_at(0, begin.data(), begin.size());
    if (begin.size() > belay_safetensors::kLengthBytes && begin[belay_safetensors::kLengthBytes] == '{')
      damaged(stated);
    const std::string text =
        belay::foreign_text(begin, "safetensors file", "write its tensors with safetensors.torch.save_file", stated);
    if (text == stated) damaged(stated);
    fail(Code::kDataLoss, "[B4041] " + what_ + " " + text);
  }

  void check_bools(const Entry& e, const unsigned char* bytes) const {
    for (std::uint64_t i = 0; i < e.end - e.begin; ++i)
      if (bytes[i] > 1)
        damaged("holds " + std::to_string(bytes[i]) + " at byte " + std::to_string(data_ + e.begin + i) +
                ", in the boolean tensor \"" + e.name + "\"");
  }

  belay::File file_;
  std::string what_;
  std::uint64_t data_ = 0;  // position of the data
  std::vector<Entry> entries_;
};

class Safetensors final : public belay::Saver {
 public:
  struct Options {
    std::int64_t shard_bytes = 0;
    belay::Table metadata;
  };
  static constexpr auto about = belay::about(
      "safetensors", "Stores the variables in one .safetensors file, or in several",
      belay::option("shard_bytes", &Options::shard_bytes,
                    "a further file begins before a file has more bytes of tensors than this; 0 means one file for all")
          .min(0)
          .example(1'000'000)
          .watching(),
      belay::option("metadata", &Options::metadata,
                    "table of NAME = \"text\" to write into the header, for other programs")
          .watching(),
      belay::option<belay::Str>("metadata.*", "text to write into the header").watching());

  explicit Safetensors(const Options& o) : shard_bytes_(static_cast<std::uint64_t>(o.shard_bytes)) {
    for (std::size_t i = 0; i < o.metadata.size(); ++i)
      metadata_.emplace(std::string(o.metadata.key(i)), std::string(o.metadata.text(i)));
  }

  void write(belay::Directory& directory, const belay::TensorSource& tensors) override {
    const std::vector<std::vector<Placed>> shards = place(sorted(tensors));
    if (shards.size() == 1) return write_one(directory, kFile, shards[0]);
    WeightMap files;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const std::string name = belay_safetensors::shard_file(i, shards.size());
      write_one(directory, name, shards[i]);
      for (const Placed& p : shards[i]) files[p.entry.name] = name;
      total += shards[i].back().entry.end;
    }
    const std::string json = belay_safetensors::format_shard_index(files, total);
    belay::File file = directory.create(kIndex);
    file.write(json.data(), json.size());
    file.close();
  }

  void read(belay::Directory& directory, belay::TensorSink& tensors) override {
    if (const std::optional<WeightMap> files = index_of(directory)) return read_shards(directory, *files, tensors);
    const TensorFile file(directory.open(kFile), kAnyFile);
    for (const Entry& e : file.entries()) file.announce(e, tensors);
  }

 private:
  struct Placed {
    Entry entry;
    const void* data;
  };

  // ---- writing ----

  // Sorts by alignment, then by name. Every tensor then begins at a multiple of its element's size.
  static std::vector<Placed> sorted(const belay::TensorSource& tensors) {
    std::vector<Placed> placed;
    const std::uint64_t count = tensors.count();
    placed.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto [name, view] = tensors.get(i);
      check_storable(name, view);
      placed.push_back({{std::string(name), view.dtype(), view.dims(), 0, view.bytes()}, view.data()});
    }
    std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
      const std::size_t x = belay::dtype_size(a.entry.dtype), y = belay::dtype_size(b.entry.dtype);
      return x != y ? x > y : a.entry.name < b.entry.name;
    });
    return placed;
  }

  static void check_storable(std::string_view name, const belay::TensorView& view) {
    if (name == "__metadata__")
      fail(Code::kInvalidArgument, "[B4042] the format reserves the name \"__metadata__\"; rename this variable");
    if (view.dtype() == DType::kString || belay::dtype_size(view.dtype()) == 0)
      fail(Code::kUnimplemented, "[B4042] variable \"" + std::string(name) + "\" is of type " +
                                     belay::dtype_name(view.dtype()) + ", which a .safetensors file cannot hold");
  }

  // Returns one list for each file, at least one.
  std::vector<std::vector<Placed>> place(std::vector<Placed> tensors) const {
    std::vector<std::vector<Placed>> shards(1);
    std::uint64_t offset = 0;
    for (Placed& p : tensors) {
      const std::uint64_t bytes = p.entry.end;
      if (shard_bytes_ != 0 && offset != 0 && bytes > shard_bytes_ - std::min(offset, shard_bytes_)) {
        shards.emplace_back();
        offset = 0;
      }
      p.entry.begin = offset;
      p.entry.end = offset += bytes;
      shards.back().push_back(std::move(p));
    }
    return shards;
  }

  void write_one(const belay::Directory& directory, std::string_view name, const std::vector<Placed>& placed) const {
    std::vector<Entry> entries;
    entries.reserve(placed.size());
    for (const Placed& p : placed) entries.push_back(p.entry);
    const std::string header = belay_safetensors::format_header(entries, metadata_);
    if (header.size() > belay_safetensors::kMaxHeader)
      fail(Code::kResourceExhausted, "[B4042] the names and shapes of " + std::to_string(entries.size()) +
                                         " tensors do not fit the 100 MB that a safetensors header may have");
    belay::File file = directory.create(name);
    file.write(header.data(), header.size());
    for (const Placed& p : placed) file.write(p.data, p.entry.end - p.entry.begin);
    file.close();
  }

  // ---- reading ----

  // Returns none if model.safetensors exists, or if neither file does.
  static std::optional<WeightMap> index_of(const belay::Directory& directory) {
    if (exists(directory, kFile) || !exists(directory, kIndex)) return std::nullopt;
    const belay::File file = directory.open(kIndex);
    const std::uint64_t size = file.size();
    if (size > belay_safetensors::kMaxHeader)
      fail(Code::kDataLoss, "[B4040] the .safetensors.index.json file has " + std::to_string(size) +
                                " bytes; at most 100000000 are read");
    std::string json(static_cast<std::size_t>(size), '\0');
    if (size != 0) file.read_at(0, json.data(), size);
    return belay_safetensors::parse_shard_index(json);
  }

  static bool exists(const belay::Directory& directory, std::string_view name) {
    try {
      directory.open(name);
      return true;
    } catch (const belay::Error& e) {
      if (e.code() != Code::kNotFound) throw;
      return false;
    }
  }

  static void read_shards(const belay::Directory& directory, const WeightMap& files, belay::TensorSink& tensors) {
    std::set<std::string> names;
    for (const auto& [tensor, name] : files) names.insert(name);
    std::size_t found = 0;
    for (const std::string& name : names) {
      const std::string what = "the file \"" + name + "\"";
      const TensorFile file(open_shard(directory, name), what);
      for (const Entry& e : file.entries()) {
        const auto at = files.find(e.name);
        if (at == files.end() || at->second != name)
          fail(Code::kDataLoss, "[B4040] " + what + " has tensor \"" + e.name + "\", which the index " +
                                    (at == files.end() ? "does not have" : "has in \"" + at->second + "\""));
        file.announce(e, tensors);
      }
      found += file.entries().size();
    }
    if (found != files.size())
      fail(Code::kDataLoss, "[B4040] the .safetensors.index.json file has " + std::to_string(files.size()) +
                                " tensors, its files have " + std::to_string(found));
  }

  static belay::File open_shard(const belay::Directory& directory, const std::string& name) {
    try {
      return directory.open(name);
    } catch (const belay::Error& e) {
      if (e.code() != Code::kNotFound) throw;
      fail(Code::kDataLoss,
           "[B4043] the file \"" + name + "\" is missing, which the .safetensors.index.json file names");
    }
  }

  const std::uint64_t shard_bytes_;
  belay_safetensors::Metadata metadata_;
};

}  // namespace

BELAY_MODULE("1.1.0", Safetensors)
