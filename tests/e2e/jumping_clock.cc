// SPDX-License-Identifier: Apache-2.0
// Preloaded: a wall clock that jumps by CLOCK_JUMP_SECS once the file CLOCK_JUMP_WHEN exists; the first look at it from
// then on is reported on stderr. The other clocks continue.
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  using Call = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "clock_gettime"));
  static const char *const when = std::getenv("CLOCK_JUMP_WHEN"), *const secs = std::getenv("CLOCK_JUMP_SECS");
  static std::atomic<bool> said{false};
  const int status = real(clock, now);
  if (status != 0 || clock != CLOCK_REALTIME || when == nullptr || secs == nullptr || ::access(when, F_OK) != 0)
    return status;
  now->tv_sec += std::atol(secs);
  constexpr char kSaid[] = "the clock has jumped\n";
  if (!said.exchange(true) && ::write(STDERR_FILENO, kSaid, sizeof(kSaid) - 1) < 0) return status;
  return status;
}
