// SPDX-License-Identifier: Apache-2.0
// Computes the checksums of some files' reads, piece by piece while the bytes are in the cache. So neither the file nor
// the memory needs another pass. Reading a checkpoint takes half the time of reading and then checking.
//
//   ReadChecksums checksums;
//   checksums.add(file, 0, buffer, 100, crc32c(buffer, 100));    // as each read comes
//   checksums.of_file(file, 100)      == the index's file entry? // else the file is read again
//   checksums.of_memory(data, bytes)  == the index's tensor?     // else the memory is
//
// An answer is for the bytes at the time of the read. Use it from one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace belay::runtime {

// Joins the CRC32Cs of two consecutive pieces. `size` is the second one's, in bytes.
std::uint32_t joined_crc32c(std::uint32_t first, std::uint32_t second, std::uint64_t size) noexcept;

class ReadChecksums {
 public:
  // `file` is any number of its file. `memory` now has `size` bytes from `offset` on, and `crc` is their CRC32C.
  // Consecutive reads, in the file and in memory, count as one.
  void add(std::size_t file, std::uint64_t offset, const void* memory, std::uint64_t size, std::uint32_t crc);

  // Returns the checksum of the whole file, which has `size` bytes. None: not all of them were read, or the reads
  // cannot be joined (some overlap in part, or there were very many).
  std::optional<std::uint32_t> of_file(std::size_t file, std::uint64_t size) const;
  // Returns the checksum of memory that reads have filled, each byte once. None: other memory.
  std::optional<std::uint32_t> of_memory(const void* memory, std::uint64_t size) const;

 private:
  struct Read {
    std::size_t file = 0;
    std::uint64_t offset = 0, size = 0;
    const unsigned char* memory = nullptr;
    std::uint32_t crc = 0;
  };
  static constexpr std::size_t kMostReads = 8192;  // above it nothing is known

  std::vector<Read> reads_;
  bool too_many_ = false;
};

}  // namespace belay::runtime
