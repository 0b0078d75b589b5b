// SPDX-License-Identifier: Apache-2.0
// Random access to the bytes of an untrusted file. It uses pread and never mmap, since a file that shrinks under a
// mapping kills the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay::runtime {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::uint64_t size() const = 0;
  // Reads exactly n bytes, all inside size(). False: they cannot be read.
  virtual bool read(std::uint64_t offset, void* to, std::size_t n) const = 0;
};

// Borrows the bytes.
class MemoryBytes final : public ByteSource {
 public:
  explicit MemoryBytes(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  bool read(std::uint64_t offset, void* to, std::size_t n) const override;

 private:
  std::string_view bytes_;
};

// Owns the descriptor. It keeps the first bytes, since many small reads go to a library's tables there. Use it from one
// thread at a time.
class FileBytes final : public ByteSource {
 public:
  FileBytes(int descriptor, std::uint64_t size) : descriptor_(descriptor), size_(size) {}
  ~FileBytes() override;
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  std::uint64_t size() const override { return size_; }
  bool read(std::uint64_t offset, void* to, std::size_t n) const override;

 private:
  bool read_file(std::uint64_t offset, void* to, std::size_t n) const;

  static constexpr std::uint64_t kHeadBytes = 16 << 10;
  int descriptor_;
  std::uint64_t size_;
  mutable std::string head_;  // empty: not read yet, or unreadable
};

}  // namespace belay::runtime
