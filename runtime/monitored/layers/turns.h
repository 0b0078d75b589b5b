// SPDX-License-Identifier: Apache-2.0
// Lets one thread at a time into a monitored session. Waiting threads go first, before a thread that returns at once.
// [any thread]
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace belay::runtime {

class Turns {
 public:
  // Returns true if the calling thread is inside.
  bool mine() const noexcept { return inside_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  // Waits until no other thread is inside. It calls `refuse` first, and again after every wake(), and throws its
  // errors.
  template <class Refuse>
  void take(const Refuse& refuse) {
    std::unique_lock lock(mutex_);
    refuse();
    if (taken() || waiting_ != 0) wait(lock, refuse);
    inside_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  // Returns false if it would have to wait.
  bool try_take() {
    const std::lock_guard lock(mutex_);
    if (taken() || waiting_ != 0) return false;
    inside_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    return true;
  }
  void give_back() noexcept {
    const std::lock_guard lock(mutex_);
    inside_.store(std::thread::id(), std::memory_order_relaxed);
    if (waiting_ != 0) changed_.notify_one();
  }
  // The waiting threads ask again if they are refused.
  void wake() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  }

 private:
  bool taken() const noexcept { return inside_.load(std::memory_order_relaxed) != std::thread::id(); }
  template <class Refuse>
  void wait(std::unique_lock<std::mutex>& lock, const Refuse& refuse) {
    ++waiting_;
    try {
      do {
        changed_.wait(lock);
        refuse();
      } while (taken());
    } catch (...) {
      --waiting_;
      if (!taken() && waiting_ != 0) changed_.notify_one();  // the signal may have been for this thread, and it leaves
      throw;
    }
    --waiting_;
  }

  std::mutex mutex_;  // for the members below; a thread may read its own entry without it
  std::condition_variable changed_;
  std::atomic<std::thread::id> inside_{};
  int waiting_ = 0;
};

}  // namespace belay::runtime
