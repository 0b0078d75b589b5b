// SPDX-License-Identifier: Apache-2.0
// Says whom this process waits for, again and again while it lives, on a thread of its own.
//
//   {
//     const WaitReport report(clock, log, max_wait_secs, [] { return "rank 2 of 4"; });
//     group.open(...);        // "still waits for rank 2 of 4 (cluster.max_wait_secs = 300)"
//   }
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/platform/clock.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

class WaitReport {
 public:
  // Every ten seconds, or four times in max_wait_secs where that is more often. `whom` is asked by the report's thread.
  // All borrowed.
  WaitReport(Clock& clock, Logger& log, double max_wait_secs, std::function<std::string()> whom);
  ~WaitReport();
  WaitReport(const WaitReport&) = delete;
  WaitReport& operator=(const WaitReport&) = delete;

 private:
  void report();

  Clock& clock_;
  Logger& log_;
  const double max_wait_secs_;
  const std::function<std::string()> whom_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace belay::runtime
