// SPDX-License-Identifier: Apache-2.0
// Preloaded: a disk that takes its time for each fsync, and more for each fdatasync.
#include <dlfcn.h>
#include <unistd.h>

namespace {

using Call = int (*)(int);

}  // namespace

extern "C" int fsync(int fd) {
  ::usleep(300'000);
  static const auto real = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "fsync"));
  return real(fd);
}

extern "C" int fdatasync(int fd) {
  ::sleep(2);
  static const auto real = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "fdatasync"));
  return real(fd);
}
