// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/threads/clock.h"

#include <gtest/gtest.h>

namespace belay::runtime {
namespace {

TEST(SystemClock, MonotonicTimeNeverGoesBack) {
  std::int64_t last = system_clock().monotonic_ns();
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t now = system_clock().monotonic_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(SystemClock, WallTimeIsAfterThisWasWritten) { EXPECT_GT(system_clock().wall_ns(), 1'700'000'000'000'000'000); }

TEST(SystemClock, WaitReturnsAtADeadlineThatHasPassed) {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock<std::mutex> lock(mutex);
  system_clock().wait_until(lock, changed, 0);
  EXPECT_TRUE(lock.owns_lock());
}

}  // namespace
}  // namespace belay::runtime
