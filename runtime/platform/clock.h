// SPDX-License-Identifier: Apache-2.0
// Time, as the runtime sees it: a seam. Tests drive a FakeClock (tests/platform/fake_clock.h) by hand, so nothing
// sleeps.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace belay::runtime {

class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since some start; never goes back. [any thread]
  virtual std::int64_t monotonic_ns() const = 0;
  // Nanoseconds since 1970; may jump. [any thread]
  virtual std::int64_t wall_ns() const = 0;
  // Waits on `changed` (lock held) until it is notified, spuriously woken, or this clock reaches `deadline_ns`. Callers
  // loop on their own condition.
  virtual void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                          std::int64_t deadline_ns) = 0;
};

// The machine's clocks. The object lives as long as the process.
Clock& system_clock();

}  // namespace belay::runtime
