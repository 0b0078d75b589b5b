// SPDX-License-Identifier: Apache-2.0
// Bytes under a path of their own, for parsers that open a file. The file lives in memory and goes with the object.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace belay_fuzz {

class MemoryPath {
 public:
  explicit MemoryPath(std::string_view bytes) : fd_(memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0 || write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      std::perror("memfd_create");
      std::exit(1);  // the machine's fault, no finding
    }
    path_ = "/proc/self/fd/" + std::to_string(fd_);
  }
  MemoryPath(const MemoryPath&) = delete;
  MemoryPath& operator=(const MemoryPath&) = delete;
  ~MemoryPath() { close(fd_); }

  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

}  // namespace belay_fuzz
