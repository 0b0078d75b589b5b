// SPDX-License-Identifier: Apache-2.0
// A clock that jumps to whatever is waited for, and notes how long that wait would have been. For waits that nothing
// else ends, in a test of one thread, beside the one that writes events. [any thread]
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/platform/threads/clock.h"
#include "tests/platform/event_thread.h"

namespace belay::runtime::testing {

class JumpingClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const override {
    const std::lock_guard lock(mutex_);
    return now_ns_;
  }
  // 2024-01-01T00:00:00Z is its start.
  std::int64_t wall_ns() const override { return 1'704'067'200'000'000'000 + monotonic_ns(); }
  void wait_until(std::unique_lock<std::mutex>& waiting, std::condition_variable& changed,
                  std::int64_t deadline_ns) override {
    if (is_event_thread()) return changed.wait(waiting);
    const std::lock_guard lock(mutex_);
    if (deadline_ns <= now_ns_) return;
    waits_ms_.push_back((deadline_ns - now_ns_) / 1'000'000);
    now_ns_ = deadline_ns;
  }
  void advance(std::int64_t ns) {
    const std::lock_guard lock(mutex_);
    now_ns_ += ns;
  }
  // The waits since the last call.
  std::vector<std::int64_t> new_waits_ms() {
    const std::lock_guard lock(mutex_);
    return std::exchange(waits_ms_, {});
  }

 private:
  mutable std::mutex mutex_;
  std::int64_t now_ns_ = 0;
  std::vector<std::int64_t> waits_ms_;
};

}  // namespace belay::runtime::testing
