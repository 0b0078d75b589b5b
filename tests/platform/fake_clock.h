// SPDX-License-Identifier: Apache-2.0
// A clock that moves only when the test moves it. [any thread]
//
//   FakeClock clock;
//   std::thread waiter([&] { ... clock.wait_until(lock, changed, clock.monotonic_ns() + 5 * FakeClock::kSecond); });
//   clock.await_waiters(1);              // the thread is in wait_until
//   clock.advance(5 * FakeClock::kSecond);   // and now it continues
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

class FakeClock final : public Clock {
 public:
  static constexpr std::int64_t kMillisecond = 1'000'000;
  static constexpr std::int64_t kSecond = 1'000'000'000;

  // The wall clock starts on 2024-01-01T00:00:00Z.
  explicit FakeClock(std::int64_t wall_ns = 1'704'067'200 * kSecond) : wall_ns_(wall_ns) {}

  std::int64_t monotonic_ns() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return monotonic_ns_;
  }
  std::int64_t wall_ns() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return wall_ns_;
  }

  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed,
                  std::int64_t deadline_ns) override {
    const auto waiter = std::make_shared<Waiter>(Waiter{lock.mutex(), &changed, deadline_ns});
    {
      const std::lock_guard<std::mutex> own(mutex_);
      if (monotonic_ns_ >= deadline_ns) return;
      waiters_.push_back(waiter);
      waiters_changed_.notify_all();
    }
    changed.wait(lock);
    const std::lock_guard<std::mutex> own(mutex_);
    waiters_.erase(std::find(waiters_.begin(), waiters_.end(), waiter));
    waiters_changed_.notify_all();
  }

  // Moves both clocks on and wakes everyone whose deadline is reached. The caller holds no mutex that a waiter waits
  // with.
  void advance(std::int64_t ns) {
    std::vector<std::shared_ptr<Waiter>> due;
    {
      const std::lock_guard<std::mutex> own(mutex_);
      monotonic_ns_ += ns;
      wall_ns_ += ns;
      for (const auto& waiter : waiters_)
        if (waiter->deadline_ns <= monotonic_ns_) due.push_back(waiter);
    }
    for (const auto& waiter : due) wake(waiter);
  }

  // The wall clock jumps; the monotonic one does not notice.
  void set_wall_ns(std::int64_t wall_ns) {
    const std::lock_guard<std::mutex> own(mutex_);
    wall_ns_ = wall_ns;
  }

  // Returns once `count` threads are in wait_until.
  void await_waiters(std::size_t count) {
    std::unique_lock<std::mutex> own(mutex_);
    waiters_changed_.wait(own, [&] { return waiters_.size() == count; });
  }

 private:
  struct Waiter {
    std::mutex* mutex;
    std::condition_variable* changed;
    std::int64_t deadline_ns;
  };

  // A waiter holds its mutex from the look at the clock until it waits, so a thread that gets that mutex finds it
  // waiting and no wake-up is lost. It cannot leave wait_until, nor its condition die, while mutex_ is held here.
  void wake(const std::shared_ptr<Waiter>& waiter) {
    for (;;) {
      {
        const std::lock_guard<std::mutex> own(mutex_);
        if (std::find(waiters_.begin(), waiters_.end(), waiter) == waiters_.end()) return;
        if (waiter->mutex->try_lock()) {
          waiter->mutex->unlock();
          waiter->changed->notify_all();
          return;
        }
      }
      std::this_thread::yield();
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable waiters_changed_;
  std::int64_t monotonic_ns_ = 0;
  std::int64_t wall_ns_;
  std::vector<std::shared_ptr<Waiter>> waiters_;
};

}  // namespace belay::runtime
