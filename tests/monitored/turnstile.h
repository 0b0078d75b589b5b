// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>

namespace belay::runtime::testing {

// At a turnstile one thread waits for another's word.
class Turnstile {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_ || let_through_ >= arrived_; });
  }
  // Until so many have come, counted from the start.
  void await_arrivals(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= count; });
  }
  void let_one_through() {
    const std::lock_guard lock(mutex_);
    ++let_through_;
    changed_.notify_all();
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0, let_through_ = 0;
  bool open_ = false;
};

}  // namespace belay::runtime::testing
