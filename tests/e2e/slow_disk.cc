// SPDX-License-Identifier: Apache-2.0
// Preloaded: a disk that takes its time for each fsync.
#include <dlfcn.h>
#include <unistd.h>

extern "C" int fsync(int fd) {
  ::usleep(300'000);
  using Call = int (*)(int);
  static const auto real = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "fsync"));
  return real(fd);
}
