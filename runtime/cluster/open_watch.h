// SPDX-License-Identifier: Apache-2.0
// OpenWatch has a thread that interrupts a cluster's open when waiting is of no use any more. That is so if the chief
// has begun anew, or if one of the awaited processes has ended.
//
//   {
//     const OpenWatch watch([&] { return seat.is_current(name); }, cluster);
//     group.open(...);                            // CANCELLED if it was interrupted
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
  // The watch's thread calls `holds` about twenty times in a second. It must not throw.
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
