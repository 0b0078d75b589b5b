// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/spinning.h"

#include <limits.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace belay::runtime {
namespace {

constexpr const char* kSelf = "/proc/self/exe";
constexpr const char* kVariable = "GOMP_SPINCOUNT";
// A few microseconds: barriers between the threads of one kernel pass within it.
constexpr const char* kSpins = "1000";

bool spinning_is_bounded() { return std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv(kVariable) != nullptr; }

// The program's path, so that `ps` goes on to show its name; kSelf where another file is there by now.
std::string own_path() {
  char path[PATH_MAX];
  const ssize_t n = ::readlink(kSelf, path, sizeof(path) - 1);
  if (n <= 0) return kSelf;
  path[n] = '\0';
  struct stat here = {}, self = {};
  const bool same =
      ::stat(path, &here) == 0 && ::stat(kSelf, &self) == 0 && here.st_dev == self.st_dev && here.st_ino == self.st_ino;
  return same ? path : kSelf;
}

}  // namespace

void bound_spinning(char** argv) {
  if (spinning_is_bounded()) return;
  // Without an interpreter the dynamic linker itself is the program: this one is its argument.
  if (::getauxval(AT_BASE) == 0) return;
  // What is set here also ends the second round, in the check above.
  if (::setenv(kVariable, kSpins, 1) != 0) return;
  ::execv(own_path().c_str(), argv);
  ::unsetenv(kVariable);
}

std::string spinning_warning(int threads) {
  if (threads < 2 || spinning_is_bounded()) return "";
  return std::string(
             "OpenMP's threads spin for milliseconds while they wait, so where anything else runs a step may take "
             "10 times as long: set ") +
         kVariable + "=" + kSpins +
         " in the environment; a program that embeds Belay calls belay::runtime::bound_spinning first in main";
}

}  // namespace belay::runtime
