// SPDX-License-Identifier: Apache-2.0
#include "tests/platform/fake_clock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <list>

namespace belay::runtime {
namespace {

TEST(FakeClock, StandsStillUntilItIsMoved) {
  FakeClock clock;
  const std::int64_t wall = clock.wall_ns();
  EXPECT_EQ(clock.monotonic_ns(), 0);
  EXPECT_EQ(clock.monotonic_ns(), 0);
  clock.advance(5 * FakeClock::kSecond);
  EXPECT_EQ(clock.monotonic_ns(), 5 * FakeClock::kSecond);
  EXPECT_EQ(clock.wall_ns(), wall + 5 * FakeClock::kSecond);
}

TEST(FakeClock, TheWallClockJumpsAlone) {
  FakeClock clock;
  clock.set_wall_ns(7);
  EXPECT_EQ(clock.wall_ns(), 7);
  EXPECT_EQ(clock.monotonic_ns(), 0);
}

TEST(FakeClock, ADeadlineInThePastIsNotWaitedFor) {
  FakeClock clock;
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock<std::mutex> lock(mutex);
  clock.wait_until(lock, changed, 0);
  EXPECT_TRUE(lock.owns_lock());
}

TEST(FakeClock, AdvanceWakesThoseWhoseTimeHasCome) {
  FakeClock clock;
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<int> woken{0};
  const auto wait_for = [&](std::int64_t deadline) {
    std::unique_lock<std::mutex> lock(mutex);
    while (clock.monotonic_ns() < deadline) clock.wait_until(lock, changed, deadline);
    ++woken;
  };
  std::list<std::thread> threads;
  for (const std::int64_t seconds : {1, 1, 10}) threads.emplace_back(wait_for, seconds * FakeClock::kSecond);
  clock.await_waiters(3);
  clock.advance(FakeClock::kSecond - 1);
  clock.await_waiters(3);
  EXPECT_EQ(woken, 0);
  clock.advance(1);
  clock.await_waiters(1);
  clock.advance(9 * FakeClock::kSecond);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(woken, 3);
}

TEST(FakeClock, NotificationsWakeBeforeTheDeadline) {
  FakeClock clock;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::thread thread([&] {
    std::unique_lock<std::mutex> lock(mutex);
    while (!done) clock.wait_until(lock, changed, FakeClock::kSecond);
  });
  clock.await_waiters(1);
  {
    const std::lock_guard<std::mutex> lock(mutex);
    done = true;
  }
  changed.notify_all();
  thread.join();
  EXPECT_EQ(clock.monotonic_ns(), 0);
}

// Waiters come and go, each with its own mutex and condition, while the clock runs.
TEST(FakeClock, NoWakeUpIsLost) {
  FakeClock clock;
  std::atomic<int> finished{0};
  std::list<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        std::mutex mutex;
        std::condition_variable changed;
        std::unique_lock<std::mutex> lock(mutex);
        const std::int64_t deadline = clock.monotonic_ns() + FakeClock::kMillisecond;
        while (clock.monotonic_ns() < deadline) clock.wait_until(lock, changed, deadline);
      }
      ++finished;
    });
  }
  while (finished < 4) clock.advance(FakeClock::kMillisecond);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace belay::runtime
