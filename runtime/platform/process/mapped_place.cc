// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/mapped_place.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace belay::runtime {
namespace {

// Reads a file. next() returns its bytes one by one; -1: its end.
class Bytes {
 public:
  explicit Bytes(int file) noexcept : file_(file) {}
  int next() noexcept {
    if (at_ == size_) {
      ssize_t got = 0;
      do got = ::read(file_, buffer_, sizeof(buffer_));
      while (got < 0 && errno == EINTR);
      if (got <= 0) return -1;
      at_ = 0, size_ = static_cast<std::size_t>(got);
    }
    return static_cast<unsigned char>(buffer_[at_++]);
  }

 private:
  const int file_;
  char buffer_[1024];
  std::size_t at_ = 0, size_ = 0;
};

// Reads hexadecimal digits. `last` is the character after them.
std::uint64_t number(Bytes& bytes, int& last) noexcept {
  std::uint64_t value = 0;
  for (;;) {
    last = bytes.next();
    const int digit = last >= '0' && last <= '9' ? last - '0' : last >= 'a' && last <= 'f' ? last - 'a' + 10 : -1;
    if (digit < 0) return value;
    value = value << 4 | static_cast<std::uint64_t>(digit);
  }
}

// Skips to the next blank.
void skip_word(Bytes& bytes, int& last) noexcept {
  do last = bytes.next();
  while (last != ' ' && last != '\n' && last >= 0);
}

}  // namespace

// A line is "begin-end rwxp offset device inode   path".
bool find_mapped_place(const void* address, MappedPlace& place) noexcept {
  const int file = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const auto wanted = reinterpret_cast<std::uint64_t>(address);
  Bytes bytes(file);
  bool found = false;
  for (int last = 0; !found && last >= 0;) {
    const std::uint64_t begin = number(bytes, last), end = number(bytes, last);
    skip_word(bytes, last);
    const std::uint64_t offset = number(bytes, last);
    for (int i = 0; i < 2 && last == ' '; ++i) skip_word(bytes, last);
    while (last == ' ') last = bytes.next();
    std::size_t n = 0;
    for (; last != '\n' && last >= 0; last = bytes.next())
      if (n + 1 < sizeof(place.path)) place.path[n++] = static_cast<char>(last);
    place.path[n] = '\0';
    found = wanted >= begin && wanted < end && place.path[0] == '/';
    place.offset = wanted - begin + offset;
  }
  ::close(file);
  return found;
}

}  // namespace belay::runtime
