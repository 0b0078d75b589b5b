// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/format/read_checksums.h"

#include <algorithm>

namespace belay::runtime {
namespace {

// Polynomials over GF(2) modulo that of CRC32C. The coefficient of x^0 is in the highest bit.
constexpr std::uint32_t kModulus = 0x82f63b78, kOne = 0x80000000, kX = kOne >> 1;

constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t sum = 0;
  for (std::uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) sum ^= b;
    b = (b & 1) != 0 ? b >> 1 ^ kModulus : b >> 1;
  }
  return sum;
}

constexpr std::uint32_t power_of_x(std::uint64_t exponent) noexcept {
  std::uint32_t result = kOne;
  for (std::uint32_t square = kX; exponent != 0; exponent >>= 1, square = product(square, square))
    if ((exponent & 1) != 0) result = product(result, square);
  return result;
}

}  // namespace

std::uint32_t joined_crc32c(std::uint32_t first, std::uint32_t second, std::uint64_t size) noexcept {
  return product(first, power_of_x(8 * size)) ^ second;
}

void ReadChecksums::add(std::size_t file, std::uint64_t offset, const void* memory, std::uint64_t size,
                        std::uint32_t crc) {
  if (size == 0 || too_many_) return;
  const auto* at = static_cast<const unsigned char*>(memory);
  if (!reads_.empty()) {
    Read& last = reads_.back();
    if (last.file == file && last.offset + last.size == offset && last.memory + last.size == at) {
      last.crc = joined_crc32c(last.crc, crc, size);
      last.size += size;
      return;
    }
  }
  if (reads_.size() == kMostReads) {
    too_many_ = true;
    reads_.clear();
    return;
  }
  reads_.push_back({file, offset, size, at, crc});
}

std::optional<std::uint32_t> ReadChecksums::of_file(std::size_t file, std::uint64_t size) const {
  std::vector<Read> reads;
  for (const Read& read : reads_)
    if (read.file == file) reads.push_back(read);
  std::sort(reads.begin(), reads.end(),
            [](const Read& a, const Read& b) { return a.offset != b.offset ? a.offset < b.offset : a.size > b.size; });
  std::uint64_t known = 0;
  std::uint32_t crc = 0;
  for (const Read& read : reads) {
    if (read.offset + read.size <= known) continue;  // it was read twice
    if (read.offset != known) return std::nullopt;
    crc = joined_crc32c(crc, read.crc, read.size);
    known += read.size;
  }
  if (too_many_ || known != size) return std::nullopt;
  return crc;
}

std::optional<std::uint32_t> ReadChecksums::of_memory(const void* memory, std::uint64_t size) const {
  const auto* begin = static_cast<const unsigned char*>(memory);
  const unsigned char* end = begin + size;
  std::vector<Read> reads;
  for (const Read& read : reads_)
    if (read.memory < end && begin < read.memory + read.size) reads.push_back(read);
  std::sort(reads.begin(), reads.end(), [](const Read& a, const Read& b) { return a.memory < b.memory; });
  std::uint32_t crc = 0;
  for (const Read& read : reads) {
    if (read.memory != begin) return std::nullopt;
    crc = joined_crc32c(crc, read.crc, read.size);
    begin += read.size;
  }
  if (too_many_ || begin != end) return std::nullopt;
  return crc;
}

}  // namespace belay::runtime
