// SPDX-License-Identifier: Apache-2.0
// A message on stderr before the process ends. One write prints it, so no line of the log can break it. Nothing here
// allocates or locks, because a crash may come from inside of malloc.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace belay::runtime {

class LastWords {
 public:
  LastWords() = default;
  ~LastWords() { flush(); }
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  LastWords& operator<<(std::string_view words) {
    while (!words.empty()) {
      if (n_ == sizeof(buffer_)) flush();
      const std::size_t n = std::min(words.size(), sizeof(buffer_) - n_);
      std::memcpy(buffer_ + n_, words.data(), n);
      n_ += n;
      words.remove_prefix(n);
    }
    return *this;
  }
  LastWords& operator<<(std::int64_t number) {
    char digits[24];
    const char* end = std::to_chars(digits, digits + sizeof(digits), number).ptr;
    return *this << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }
  void flush() {
    for (std::string_view rest(buffer_, std::exchange(n_, 0)); !rest.empty();) {
      const ssize_t n = ::write(STDERR_FILENO, rest.data(), rest.size());
      if (n < 0 && errno != EINTR) return;
      if (n > 0) rest.remove_prefix(static_cast<std::size_t>(n));
    }
  }

 private:
  char buffer_[2048];
  std::size_t n_ = 0;
};

}  // namespace belay::runtime
