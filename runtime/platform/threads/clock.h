// SPDX-License-Identifier: Apache-2.0
// Time for the runtime: a seam. Tests drive a FakeClock (tests/platform/fake_clock.h) by hand, so nothing sleeps.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace belay::runtime {

class Clock {
 public:
  virtual ~Clock() = default;
  // Returns nanoseconds since some start; it never goes back. [any thread]
  virtual std::int64_t monotonic_ns() const = 0;
  // Returns nanoseconds since 1970; it may jump. [any thread]
  virtual std::int64_t wall_ns() const = 0;
  // Waits on `changed` (lock held) until it is notified, spuriously woken, or this clock reaches `deadline_ns`. Callers
  // loop on their condition.
  virtual void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                          std::int64_t deadline_ns) = 0;
};

// Returns the machine's clocks. The object lives as long as the process.
Clock& system_clock();

}  // namespace belay::runtime
