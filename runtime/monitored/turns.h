// SPDX-License-Identifier: Apache-2.0
// Who is inside a monitored session: one thread at a time. Those that come meanwhile wait, and go before the one that
// comes back at once. [any thread]
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace belay::runtime {

class Turns {
 public:
  // Whether the thread that calls is inside.
  bool mine() const noexcept { return inside_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }
  // Waits until no other thread is inside. `refuse` is called first, and again with every wake(): what it throws
  // leaves.
  template <class Refuse>
  void take(const Refuse& refuse) {
    std::unique_lock lock(mutex_);
    refuse();
    if (taken() || waiting_ != 0) wait(lock, refuse);
    inside_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  }
  // False where that would have to wait.
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
  // Those that wait ask again whether they are refused.
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
      if (!taken() && waiting_ != 0) changed_.notify_one();  // it was this one's turn
      throw;
    }
    --waiting_;
  }

  std::mutex mutex_;  // of the following, which a thread may ask for itself without it
  std::condition_variable changed_;
  std::atomic<std::thread::id> inside_{};
  int waiting_ = 0;
};

}  // namespace belay::runtime
