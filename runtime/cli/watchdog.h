// Ends a run that makes no progress: a warning at half of the time, then the stacks of all threads and exit status 124.
//
// Progress is what the run reports with progress(): a finished step, a batch of the evaluation, a phase of the start.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/platform/logger.h"

namespace belay::runtime {

struct WatchdogOptions {
  double no_progress_secs = 1800;  // 0: never
  // What the run is doing, for the messages: "hook "x" in after_run at step 17". Called from the watchdog's thread.
  std::function<std::string()> activity;
  // Called instead of ending the process; a test's.
  std::function<void()> give_up;
};

class Watchdog {
 public:
  Watchdog(WatchdogOptions options, Logger& log);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  // Cheap; any thread.
  void progress() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void watch();

  WatchdogOptions options_;
  Logger& log_;
  std::atomic<std::uint64_t> count_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace belay::runtime
