// SPDX-License-Identifier: Apache-2.0
#include "shard_reader.h"

#include <belay/error.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "crc32c.h"
#include "dtypes.h"
#include "slices.h"
#include "string_tensor.h"

namespace tf_bundle {
namespace {

using belay::Code;
using belay::fail;

// Reads the bytes of one entry in their order.
class EntryBytes {
 public:
  EntryBytes(const belay::File& file, const Place& place) : file_(file), at_(place.offset), left_(place.size) {}

  void take(char* to, std::uint64_t size) {
    while (size > 0) {
      if (buffered_.size() == used_) fill();
      const std::uint64_t n = std::min<std::uint64_t>(size, buffered_.size() - used_);
      std::memcpy(to, buffered_.data() + used_, n);
      used_ += n;
      to += n;
      size -= n;
      for (; buffered_.size() == used_ && size >= kPiece; to += kPiece, size -= kPiece) read(to, kPiece);
    }
  }
  // The checksum of the bytes so far.
  std::uint32_t crc() const { return crc_; }

 private:
  // A piece is small enough to be still in the cache when its checksum is computed.
  static constexpr std::uint64_t kPiece = std::uint64_t{1} << 18;

  void fill() {
    buffered_.resize(static_cast<std::size_t>(std::min(left_, kPiece)));
    read(buffered_.data(), buffered_.size());
    used_ = 0;
  }
  void read(char* to, std::uint64_t size) {
    file_.read_at(at_, to, size);
    crc_ = crc32c(to, size, crc_);
    at_ += size;
    left_ -= size;
  }

  const belay::File& file_;
  std::uint64_t at_, left_;
  std::string buffered_;
  std::size_t used_ = 0;
  std::uint32_t crc_ = 0;
};

void swap_bytes(char* data, std::uint64_t elements, std::uint64_t width) {
  for (std::uint64_t i = 0; i < elements; ++i) std::reverse(data + i * width, data + (i + 1) * width);
}

void check_bools(const Tensor& tensor, const char* data) {
  for (std::uint64_t i = 0; i < tensor.elements(); ++i)
    if (static_cast<unsigned char>(data[i]) > 1)
      fail(Code::kDataLoss, "[B4040] " + tensor_text(tensor.name) + " is of booleans, but element " +
                                std::to_string(i) + " is " + std::to_string(static_cast<unsigned char>(data[i])));
}

}  // namespace

std::string shard_name(std::int32_t shard, std::int32_t shards) {
  char text[64];
  std::snprintf(text, sizeof(text), "model.data-%05d-of-%05d", shard, shards);
  return text;
}

const belay::File* ShardReader::open(std::int32_t shard) {
  if (missing_.count(shard) != 0) return nullptr;
  const auto known = files_.find(shard);
  if (known != files_.end()) return &known->second;
  try {
    return &files_.emplace(shard, directory_.open(shard_name(shard, index_.shards))).first->second;
  } catch (const belay::Error& e) {
    if (e.code() != Code::kNotFound) throw;
    missing_.insert(shard);
    return nullptr;
  }
}

// The files may have a name that this plugin does not know, but its end is always the same.
std::string ShardReader::in_file(const Place& place) const {
  return "the " + shard_name(place.shard, index_.shards).substr(sizeof("model") - 1) + " file";
}

const belay::File& ShardReader::file_of(const Tensor& tensor, const Place& place) {
  const belay::File* file = open(place.shard);
  if (file == nullptr)
    fail(Code::kDataLoss, "[B4043] " + in_file(place) + " is missing, which has " + tensor_text(tensor.name));
  return *file;
}

void ShardReader::check(const Tensor& tensor) {
  const auto check_place = [&](const Place& place) {
    const belay::File* file = open(place.shard);
    if (file == nullptr) return;
    if (place.offset + place.size > file->size())
      fail(Code::kDataLoss, "[B4040] " + in_file(place) + " has " + std::to_string(file->size()) + " bytes; " +
                                tensor_text(tensor.name) + " goes from " + std::to_string(place.offset) + " to " +
                                std::to_string(place.offset + place.size));
  };
  if (tensor.slices.empty()) check_place(tensor.place);
  for (const Slice& slice : tensor.slices) check_place(slice.place);
}

void ShardReader::read_numbers(const Tensor& tensor, void* memory) {
  char* const to = static_cast<char*>(memory);
  const std::uint64_t width = type_width(tensor.dtype), bytes = tensor.elements() * width;
  const auto check_crc = [&](const EntryBytes& entry, const Place& place) {
    if (masked(entry.crc()) != place.crc)
      fail(Code::kDataLoss, "[B4010] the checksum of " + tensor_text(tensor.name) + " is wrong: bytes " +
                                std::to_string(place.offset) + " to " + std::to_string(place.offset + place.size) +
                                " of " + in_file(place));
  };
  if (tensor.slices.empty()) {
    EntryBytes entry(file_of(tensor, tensor.place), tensor.place);
    entry.take(to, bytes);
    check_crc(entry, tensor.place);
  }
  for (const Slice& slice : tensor.slices) {
    EntryBytes entry(file_of(tensor, slice.place), slice.place);
    for_each_run(slice, tensor.dims, width, [&](std::uint64_t at, std::uint64_t n) { entry.take(to + at, n); });
    check_crc(entry, slice.place);
  }
  if (index_.big_endian && width > 1) swap_bytes(to, tensor.elements(), width);
  if (belay_type(tensor.dtype) == belay::DType::kBool) check_bools(tensor, to);
}

void ShardReader::read_strings(const Tensor& tensor, belay_str* memory, std::deque<std::string>& keep) {
  if (!tensor.slices.empty())
    fail(Code::kUnimplemented,
         "[B4008] " + tensor_text(tensor.name) + " is of strings and in several slices, which is not read");
  std::string& bytes = keep.emplace_back(static_cast<std::size_t>(tensor.place.size), '\0');
  // The file is opened even if there is nothing to read. A missing file is an error for every tensor in it.
  const belay::File& file = file_of(tensor, tensor.place);
  if (!bytes.empty()) file.read_at(tensor.place.offset, bytes.data(), bytes.size());
  try {
    for (const std::string_view text : decode_strings(bytes, tensor.elements(), tensor.place.crc, index_.big_endian))
      *memory++ = {text.data(), text.size()};
  } catch (const belay::Error& e) {
    fail(e.code(), tensor_text(tensor.name) + " " + e.what() + " (at byte " + std::to_string(tensor.place.offset) +
                       " of " + in_file(tensor.place) + ")");
  }
}

}  // namespace tf_bundle
