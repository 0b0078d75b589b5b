// SPDX-License-Identifier: Apache-2.0
#include "bundle_index.h"

#include <belay/error.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "dtypes.h"
#include "plugins/savers/tf_bundle/bundle.pb.h"
#include "slice_key.h"
#include "slices.h"

namespace tf_bundle {
namespace {

using belay::Code;
using belay::Dims;
using belay::fail;
namespace pb = belay::tf_bundle;

constexpr std::int32_t kVersion = 1;
constexpr int kMaxRank = 254;               // TensorFlow's limit
constexpr std::size_t kMaxSlices = 10'000;  // of one tensor; each slice is compared with each

[[noreturn]] void bad_entry(std::string_view name, const std::string& text) {
  fail(Code::kDataLoss, "[B4040] the .index file: " + tensor_text(name) + " " + text);
}

pb::Header parse_header(const std::string& value) {
  pb::Header header;
  if (!header.ParseFromString(value)) fail(Code::kDataLoss, "[B4040] the .index file: its header is damaged");
  if (header.num_shards() < 1)
    fail(Code::kDataLoss, "[B4040] the .index file counts " + std::to_string(header.num_shards()) + " data files");
  if (header.endianness() != 0 && header.endianness() != 1)
    fail(Code::kDataLoss, "[B4040] the .index file has the unknown byte order " + std::to_string(header.endianness()));
  const auto& bad = header.version().bad_consumers();
  if (header.version().min_consumer() > kVersion || std::find(bad.begin(), bad.end(), kVersion) != bad.end())
    fail(Code::kUnimplemented, "[B4044] the .index file was written for readers of version " +
                                   std::to_string(std::max(header.version().min_consumer(), kVersion + 1)) +
                                   ", this one is of version " + std::to_string(kVersion));
  return header;
}

// The number of elements fits 63 bits, with zeros counted as 1.
Dims parse_shape(std::string_view name, const pb::Shape& shape) {
  if (shape.unknown_rank()) bad_entry(name, "has no shape");
  if (shape.dim_size() > kMaxRank) bad_entry(name, "has " + std::to_string(shape.dim_size()) + " dimensions");
  Dims dims;
  std::int64_t elements = 1;
  for (const auto& d : shape.dim()) {
    if (d.size() < 0) bad_entry(name, "has the dimension " + std::to_string(d.size()));
    if (__builtin_mul_overflow(elements, std::max<std::int64_t>(d.size(), 1), &elements))
      bad_entry(name, "has a shape whose size overflows 63 bits");
    dims.push_back(d.size());
  }
  return dims;
}

Place parse_place(std::string_view name, const pb::Entry& entry, std::int32_t shards) {
  const auto at = [&](std::int64_t n) { return std::to_string(n); };
  if (entry.shard_id() < 0 || entry.shard_id() >= shards)
    bad_entry(name, "is in data file " + at(entry.shard_id()) + ", but there are " + at(shards));
  std::int64_t end = 0;
  if (entry.offset() < 0 || entry.size() < 0 || __builtin_add_overflow(entry.offset(), entry.size(), &end))
    bad_entry(name, "has " + at(entry.size()) + " bytes at offset " + at(entry.offset()));
  return {entry.shard_id(), static_cast<std::uint64_t>(entry.offset()), static_cast<std::uint64_t>(entry.size()),
          entry.crc32c()};
}

std::uint64_t elements_of(const Dims& dims) {
  std::uint64_t n = 1;
  for (const std::int64_t d : dims) n *= static_cast<std::uint64_t>(d);
  return n;
}

void check_size(std::string_view name, std::int32_t dtype, const Dims& dims, const Place& place) {
  const std::uint64_t width = type_width(dtype);
  std::uint64_t bytes = 0;
  if (width == 0) return;
  if (__builtin_mul_overflow(elements_of(dims), width, &bytes) || bytes != place.size)
    bad_entry(name, "has " + std::to_string(place.size) + " bytes; " + type_name(dtype) + " " + belay::dims_text(dims) +
                        " has " + std::to_string(bytes));
}

class IndexParser {
 public:
  explicit IndexParser(const Records& records) {
    const std::string* last = nullptr;
    for (const auto& [key, value] : records) {
      if (last != nullptr && *last >= key)
        fail(Code::kDataLoss, "[B4040] the .index file: " + tensor_text(key) + " is not after " + tensor_text(*last) +
                                  " in the order of names");
      last = &key;
      // TensorFlow's names are not empty and do not begin with a NUL. Such keys are those of the header and of slices.
      if (!key.empty() && key[0] == '\0')
        slices_.emplace(key, &value);
      else
        names_.emplace_back(&key, &value);
    }
    if (names_.empty() || !names_.front().first->empty())
      fail(Code::kDataLoss, "[B4040] the .index file has no header");
  }

  BundleIndex parse() {
    const pb::Header header = parse_header(*names_.front().second);
    index_.shards = header.num_shards();
    index_.big_endian = header.endianness() == 1;
    index_.tensors.reserve(names_.size() - 1);
    for (std::size_t i = 1; i < names_.size(); ++i)
      index_.tensors.push_back(parse_tensor(*names_[i].first, *names_[i].second));
    return std::move(index_);
  }

 private:
  static pb::Entry entry_of(std::string_view name, const std::string& value) {
    pb::Entry entry;
    if (!entry.ParseFromString(value)) bad_entry(name, "has a damaged entry");
    return entry;
  }

  Tensor parse_tensor(const std::string& name, const std::string& value) const {
    const pb::Entry entry = entry_of(name, value);
    Tensor tensor{name, entry.dtype(), parse_shape(name, entry.shape()), {}, {}};
    if (entry.slices().empty()) {
      tensor.place = parse_place(name, entry, index_.shards);
      check_size(name, tensor.dtype, tensor.dims, tensor.place);
      return tensor;
    }
    if (entry.slices().size() > static_cast<int>(kMaxSlices))
      bad_entry(name, "has " + std::to_string(entry.slices().size()) + " slices; at most " +
                          std::to_string(kMaxSlices) + " are read");
    for (const pb::Slice& slice : entry.slices()) tensor.slices.push_back(parse_slice(tensor, slice));
    const std::string fault = fault_of(tensor.slices, tensor.dims);
    if (!fault.empty()) bad_entry(name, "has " + fault);
    return tensor;
  }

  Slice parse_slice(const Tensor& tensor, const pb::Slice& slice) const {
    if (slice.extent_size() != static_cast<int>(tensor.dims.size()))
      bad_entry(tensor.name, "has a slice of " + std::to_string(slice.extent_size()) + " dimensions");
    Slice parsed;
    std::vector<Extent> extents;
    for (int d = 0; d < slice.extent_size(); ++d) {
      const pb::Slice::Extent& e = slice.extent(d);
      const bool whole = !e.has_length();
      extents.push_back({e.start(), whole ? -1 : e.length()});
      parsed.start.push_back(e.start());
      parsed.length.push_back(whole ? tensor.dims[static_cast<std::size_t>(d)] : e.length());
    }
    const auto at = slices_.find(slice_key(tensor.name, extents));
    if (at == slices_.end())
      bad_entry(tensor.name, "has no entry for its slice " + belay::dims_text(parsed.length) + " at " +
                                 belay::dims_text(parsed.start));
    const pb::Entry entry = entry_of(tensor.name, *at->second);
    if (entry.dtype() != tensor.dtype || parse_shape(tensor.name, entry.shape()) != parsed.length)
      bad_entry(tensor.name, "has a slice whose own entry has another type or shape");
    parsed.place = parse_place(tensor.name, entry, index_.shards);
    check_size(tensor.name, tensor.dtype, parsed.length, parsed.place);
    return parsed;
  }

  std::vector<std::pair<const std::string*, const std::string*>> names_;
  std::map<std::string_view, const std::string*> slices_;
  BundleIndex index_;
};

}  // namespace

std::uint64_t Tensor::elements() const { return elements_of(dims); }

std::string tensor_text(std::string_view name) {
  std::string text = "tensor \"";
  for (const char c : name) {
    if (static_cast<unsigned char>(c) >= ' ' && c != '\x7f') {
      text += c;
      continue;
    }
    constexpr char kDigits[] = "0123456789abcdef";
    text += {'\\', 'x', kDigits[static_cast<unsigned char>(c) >> 4], kDigits[static_cast<unsigned char>(c) & 15]};
  }
  return text + "\"";
}

BundleIndex parse_index(const Records& records) { return IndexParser(records).parse(); }

Records format_index(const BundleIndex& index) {
  pb::Header header;
  header.set_num_shards(index.shards);
  header.mutable_version()->set_producer(kVersion);
  Records records{{"", header.SerializeAsString()}};
  for (const Tensor& t : index.tensors) {
    pb::Entry entry;
    entry.set_dtype(t.dtype);
    entry.mutable_shape();  // set for a scalar, too
    // TensorFlow leaves out fields that are zero.
    for (const std::int64_t d : t.dims) {
      pb::Shape::Dim* dim = entry.mutable_shape()->add_dim();
      if (d != 0) dim->set_size(d);
    }
    if (t.place.shard != 0) entry.set_shard_id(t.place.shard);
    if (t.place.offset != 0) entry.set_offset(static_cast<std::int64_t>(t.place.offset));
    if (t.place.size != 0) entry.set_size(static_cast<std::int64_t>(t.place.size));
    if (t.place.crc != 0) entry.set_crc32c(t.place.crc);
    records.emplace_back(t.name, entry.SerializeAsString());
  }
  return records;
}

}  // namespace tf_bundle
