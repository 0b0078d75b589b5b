// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/byte_source.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace belay::runtime {

bool MemoryBytes::read(std::uint64_t offset, void* to, std::size_t n) const {
  if (offset > bytes_.size() || n > bytes_.size() - offset) return false;
  std::memcpy(to, bytes_.data() + offset, n);
  return true;
}

FileBytes::~FileBytes() { ::close(descriptor_); }

bool FileBytes::read(std::uint64_t offset, void* to, std::size_t n) const {
  if (n == 0) return true;
  const std::uint64_t head = std::min(size_, kHeadBytes);
  if (offset > head || n > head - offset) return read_file(offset, to, n);
  if (head_.empty()) {
    head_.resize(head);
    if (!read_file(0, head_.data(), head)) head_.clear();
  }
  if (head_.empty()) return read_file(offset, to, n);
  std::memcpy(to, head_.data() + offset, n);
  return true;
}

bool FileBytes::read_file(std::uint64_t offset, void* to, std::size_t n) const {
  auto* out = static_cast<char*>(to);
  while (n != 0) {
    const ssize_t got = ::pread(descriptor_, out, n, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    offset += static_cast<std::uint64_t>(got);
    n -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace belay::runtime
