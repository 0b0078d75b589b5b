// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/threads/clock.h"

#include <algorithm>
#include <chrono>

namespace belay::runtime {
namespace {

class SystemClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const override {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  std::int64_t wall_ns() const override {
    return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  }
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  std::int64_t deadline_ns) override {
    // It waits at most an hour at once, so that a far deadline cannot overflow inside the library.
    const std::int64_t wait = std::clamp<std::int64_t>(deadline_ns - monotonic_ns(), 0, 3'600'000'000'000);
    changed.wait_for(lock, std::chrono::nanoseconds(wait));
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace belay::runtime
