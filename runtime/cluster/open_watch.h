// SPDX-License-Identifier: Apache-2.0
// Interrupts a cluster's open, on a thread of its own, where there is no use in waiting any more: the chief has begun
// anew, or one of those that are waited for has ended.
//
//   {
//     const OpenWatch watch([&] { return seat.is_current(name); }, cluster);
//     group.open(...);                            // CANCELLED where it was interrupted
//   }
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "runtime/loader/instance/instance.h"

namespace belay::runtime {

class OpenWatch {
 public:
  // `holds` is asked some twenty times in a second, by the watch's thread; it must not throw.
  OpenWatch(std::function<bool()> holds, PluginInstance& cluster)
      : cluster_(cluster), thread_([this, holds = std::move(holds)] { watch(holds); }) {}
  ~OpenWatch() {
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
    cluster_.uninterrupted();
  }
  OpenWatch(const OpenWatch&) = delete;
  OpenWatch& operator=(const OpenWatch&) = delete;

 private:
  void watch(const std::function<bool()>& holds) {
    constexpr std::chrono::milliseconds kBetweenQuestions{50};
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kBetweenQuestions, [&] { return done_; })) {
      if (holds()) continue;
      cluster_.interrupt();
      return;
    }
  }

  PluginInstance& cluster_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace belay::runtime
