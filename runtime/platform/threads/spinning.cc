// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/threads/spinning.h"

#include <fmt/core.h>

#include <limits.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>

namespace belay::runtime {
namespace {

constexpr const char* kSelf = "/proc/self/exe";
constexpr const char* kVariable = "GOMP_SPINCOUNT";

// Long enough for the barriers between the threads of one kernel. With half of it a step of two threads took a quarter
// longer on an Intel Xeon. Waking a thread takes as long there. Beside other programs, twice of it is worse than half.
constexpr std::chrono::duration<double, std::nano> kSpin{20'000};

// Does the same as libgomp between two looks.
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

bool spinning_is_bounded() { return std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv(kVariable) != nullptr; }

// Returns the program's path, so that `ps` still shows its name. Returns kSelf if another file has that path now.
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

int spins_of_a_wait() {
  using Steady = std::chrono::steady_clock;
  constexpr int kPauses = 500, kTakes = 5, kStep = 100;
  std::chrono::duration<double, std::nano> least = Steady::duration::max();
  for (int take = 0; take < kTakes; ++take) {
    const Steady::time_point start = Steady::now();
    for (int i = 0; i < kPauses; ++i) relax();
    least = std::min<std::chrono::duration<double, std::nano>>(least, Steady::now() - start);
  }
  const double steps = kSpin / least * kPauses / kStep;
  return kStep * static_cast<int>(std::clamp(steps, 1.0, 200.0));
}

void bound_spinning(char** argv) {
  if (spinning_is_bounded()) return;
  // Without an interpreter the dynamic linker itself is the program, and this one is its argument.
  if (::getauxval(AT_BASE) == 0) return;
  // This setting also ends the second round, in the check above.
  if (::setenv(kVariable, std::to_string(spins_of_a_wait()).c_str(), 1) != 0) return;
  ::execv(own_path().c_str(), argv);
  ::unsetenv(kVariable);
}

std::string spinning_warning(int threads) {
  static std::atomic<bool> said{false};
  if (threads < 2 || spinning_is_bounded() || said.exchange(true)) return "";
  return fmt::format(
      "OpenMP's threads spin for milliseconds while they wait, so where anything else runs a step may take 10 times as "
      "long: set {}={} in the environment; a program that embeds Belay calls belay::runtime::bound_spinning first in "
      "main",
      kVariable, spins_of_a_wait());
}

}  // namespace belay::runtime
