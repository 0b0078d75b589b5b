// SPDX-License-Identifier: Apache-2.0
// `belay run --max-time` asks a run to stop when so much time has passed since the program started it. It stops as
// after a signal: at the next step's boundary, with a checkpoint. A wait for input is ended half a second later.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

class TimeBox {
 public:
  // It calls `stop` once. From half a second later it calls `wake` repeatedly. Both are called on the box's thread.
  // seconds 0: never.
  TimeBox(double seconds, Clock& clock, std::function<void()> stop, std::function<void()> wake);
  ~TimeBox();
  TimeBox(const TimeBox&) = delete;
  TimeBox& operator=(const TimeBox&) = delete;

  // Whether the time is over.
  bool over() const noexcept { return over_; }

 private:
  void watch(std::int64_t end_ns);
  bool wait_until(std::int64_t ns);

  Clock& clock_;
  const std::function<void()> stop_, wake_;
  std::atomic<bool> over_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace belay::runtime
