// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/standard_descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::runtime {
namespace {

bool is_null_device(int fd) {
  struct stat own {
  }, null{};
  return ::fstat(fd, &own) == 0 && ::stat("/dev/null", &null) == 0 && own.st_dev == null.st_dev &&
         own.st_ino == null.st_ino;
}

// Bits of `closed`: descriptors that are closed before the call. Bits of the result: those that are /dev/null after it;
// 0x80: a file that is opened then gets one of the three.
int null_after_closing(int closed) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int other = ::open("/", O_RDONLY | O_CLOEXEC);
    for (int fd = 0; fd < 3; ++fd) {
      ::dup2(other, fd);
      if ((closed >> fd & 1) != 0) ::close(fd);
    }
    int found = open_standard_descriptors() ? 0 : 0x40;
    for (int fd = 0; fd < 3; ++fd) found |= is_null_device(fd) ? 1 << fd : 0;
    if (::open("/", O_RDONLY | O_CLOEXEC) < 3) found |= 0x80;
    ::_exit(found);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StandardDescriptors, T_52_EachClosedOneIsTheNullDeviceAndTheOthersStay) {
  for (int closed = 0; closed < 8; ++closed) EXPECT_EQ(null_after_closing(closed), closed);
}

}  // namespace
}  // namespace belay::runtime
