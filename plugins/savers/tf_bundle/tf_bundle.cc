// SPDX-License-Identifier: Apache-2.0
// The saver "tf_bundle" writes the variables as a TensorFlow V2 checkpoint: model.index and model.data-00000-of-00001.
#include <belay/plugin.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bundle_index.h"
#include "crc32c.h"
#include "dtypes.h"
#include "index_table.h"
#include "shard_reader.h"
#include "string_tensor.h"

namespace {

using belay::Code;
using belay::DType;
using belay::fail;
using tf_bundle::BundleIndex;
using tf_bundle::Tensor;

constexpr std::string_view kIndexFile = "model.index";
constexpr std::uint64_t kMaxIndex = std::uint64_t{1} << 30;  // enough for ten million tensors

class TfBundle final : public belay::Saver {
 public:
  struct Options {
    std::int64_t shard_bytes = 0;
  };
  static constexpr auto about = belay::about(
      "tf_bundle", "Stores the variables as a TensorFlow V2 checkpoint",
      belay::option("shard_bytes", &Options::shard_bytes,
                    "a further data file begins before a file has more bytes than this; 0 means one file for all")
          .min(0)
          .example(1'000'000)
          .watching());

  explicit TfBundle(const Options& o) : shard_bytes_(static_cast<std::uint64_t>(o.shard_bytes)) {}

  void write(belay::Directory& directory, const belay::TensorSource& tensors) override {
    texts_.clear();
    const std::vector<Source> sources = sorted(tensors);
    BundleIndex index = placed(sources);
    std::size_t next = 0;
    for (std::int32_t shard = 0; shard < index.shards; ++shard) {
      belay::File file = directory.create(tf_bundle::shard_name(shard, index.shards));
      for (; next < sources.size() && index.tensors[next].place.shard == shard; ++next)
        index.tensors[next].place.crc = write_one(file, sources[next]);
      file.close();
    }
    const std::string bytes = tf_bundle::write_table(tf_bundle::format_index(index));
    belay::File file = directory.create(kIndexFile);
    file.write(bytes.data(), bytes.size());
    file.close();
  }

  void read(belay::Directory& directory, belay::TensorSink& tensors) override {
    texts_.clear();
    const BundleIndex index = tf_bundle::parse_index(tf_bundle::read_table(index_bytes(directory)));
    tf_bundle::ShardReader shards(directory, index);
    for (const Tensor& t : index.tensors) {
      const DType dtype = tf_bundle::belay_type(t.dtype);
      shards.check(t);
      void* memory = tensors.found(t.name, dtype, t.dims);
      if (memory == nullptr) continue;
      if (dtype == DType::kString)
        shards.read_strings(t, static_cast<belay_str*>(memory), texts_);
      else if (t.elements() != 0)
        shards.read_numbers(t, memory);
    }
  }

 private:
  struct Source {
    std::string_view name;
    belay::TensorView view;
    tf_bundle::EncodedStrings strings;  // for a tensor of strings
    std::uint64_t bytes() const { return view.dtype() == DType::kString ? strings.bytes.size() : view.bytes(); }
  };

  static std::string index_bytes(const belay::Directory& directory) {
    const belay::File file = directory.open(kIndexFile);
    const std::uint64_t size = file.size();
    if (size > kMaxIndex)
      fail(Code::kDataLoss, "[B4040] the .index file has " + std::to_string(size) + " bytes; at most " +
                                std::to_string(kMaxIndex) + " are read");
    std::string bytes(static_cast<std::size_t>(size), '\0');
    if (size != 0) file.read_at(0, bytes.data(), size);
    return bytes;
  }

  // Sorts by name: the index needs it, and TensorFlow orders the data so.
  static std::vector<Source> sorted(const belay::TensorSource& tensors) {
    std::vector<Source> sources;
    const std::uint64_t count = tensors.count();
    sources.reserve(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto [name, view] = tensors.get(i);
      if (name.empty() || name[0] == '\0')
        fail(Code::kInvalidArgument,
             "[B4042] the format reserves names that are empty or begin with a NUL; rename this variable");
      sources.push_back({name, view, {}});
      if (view.dtype() != DType::kString) continue;
      std::vector<std::string_view> strings(view.size());
      for (std::size_t s = 0; s < strings.size(); ++s) strings[s] = view.text(s);
      sources.back().strings = tf_bundle::encode_strings(strings);
    }
    std::sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) { return a.name < b.name; });
    return sources;
  }

  BundleIndex placed(const std::vector<Source>& sources) const {
    BundleIndex index;
    std::uint64_t used = 0;
    for (const Source& s : sources) {
      if (shard_bytes_ != 0 && used != 0 && s.bytes() > shard_bytes_ - std::min(used, shard_bytes_)) {
        ++index.shards;
        used = 0;
      }
      index.tensors.push_back({std::string(s.name),
                               static_cast<std::int32_t>(s.view.dtype()),
                               s.view.dims(),
                               {index.shards - 1, used, s.bytes(), 0},
                               {}});
      used += s.bytes();
    }
    return index;
  }

  // Returns the masked checksum of the bytes that it wrote.
  static std::uint32_t write_one(belay::File& file, const Source& source) {
    if (source.view.dtype() == DType::kString) {
      file.write(source.strings.bytes.data(), source.strings.bytes.size());
      return source.strings.crc;
    }
    // A piece is larger than those that the host gathers, so none is copied.
    constexpr std::uint64_t kPiece = std::uint64_t{2} << 20;
    const char* at = static_cast<const char*>(source.view.data());
    std::uint32_t crc = 0;
    for (std::uint64_t left = source.bytes(); left > 0;) {
      const std::uint64_t n = std::min(left, kPiece);
      crc = tf_bundle::crc32c(at, n, crc);
      file.write(at, n);
      at += n;
      left -= n;
    }
    return tf_bundle::masked(crc);
  }

  const std::uint64_t shard_bytes_;
  std::deque<std::string> texts_;  // own the strings of the last read
};

}  // namespace

BELAY_MODULE("1.0.0", TfBundle)
