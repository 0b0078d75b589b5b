// SPDX-License-Identifier: Apache-2.0
// The checksums of what is read from some files, taken piece by piece while the bytes are in the cache, so that neither
// the file nor the memory needs another pass: reading a checkpoint takes half of the time that reading and checking it
// behind each other would.
//
//   ReadChecksums checksums;
//   checksums.add(file, 0, buffer, 100, crc32c(buffer, 100));    // as each read comes
//   checksums.of_file(file, 100)      == the index's file entry? // else the file is read again
//   checksums.of_memory(data, bytes)  == the index's tensor?     // else the memory is
//
// An answer is of the bytes as they were when they were read. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace belay::runtime {

// CRC32C of two pieces behind each other, from that of each; `size`: of the second one, in bytes.
std::uint32_t joined_crc32c(std::uint32_t first, std::uint32_t second, std::uint64_t size) noexcept;

class ReadChecksums {
 public:
  // `file`: any number that is its own. `size` bytes from `offset` of it on are in `memory` now, and `crc` is their
  // CRC32C. Reads that go on where the one before ended, in the file and in memory, are one.
  void add(std::size_t file, std::uint64_t offset, const void* memory, std::uint64_t size, std::uint32_t crc);

  // Of the whole file, which has `size` bytes. None: not all of them were read, or it cannot be put together from the
  // reads (some overlap in part, or there were very many).
  std::optional<std::uint32_t> of_file(std::size_t file, std::uint64_t size) const;
  // Of memory that reads have filled, each byte of it once. None: other memory.
  std::optional<std::uint32_t> of_memory(const void* memory, std::uint64_t size) const;

 private:
  struct Read {
    std::size_t file = 0;
    std::uint64_t offset = 0, size = 0;
    const unsigned char* memory = nullptr;
    std::uint32_t crc = 0;
  };
  static constexpr std::size_t kMostReads = 8192;  // beyond them nothing is known

  std::vector<Read> reads_;
  bool too_many_ = false;
};

}  // namespace belay::runtime
