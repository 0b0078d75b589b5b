// SPDX-License-Identifier: Apache-2.0
// Bytes under a path, for parsers that open a file. The file lives in memory and is the same one for every input, since
// making one takes as long as parsing it. So there is one object of these at a time.
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
  explicit MemoryPath(std::string_view bytes) {
    const auto size = static_cast<off_t>(bytes.size());
    if (ftruncate(file().fd, size) != 0 || pwrite(file().fd, bytes.data(), bytes.size(), 0) != size)
      fail();  // the machine's fault, no finding
  }
  MemoryPath(const MemoryPath&) = delete;
  MemoryPath& operator=(const MemoryPath&) = delete;

  const std::string& path() const { return file().path; }

 private:
  struct File {
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
  };
  static const File& file() {
    static const File only;
    return only;
  }
  [[noreturn]] static void fail() {
    std::perror("memfd_create");
    std::exit(1);
  }
};

}  // namespace belay_fuzz
