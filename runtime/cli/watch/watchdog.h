// SPDX-License-Identifier: Apache-2.0
// Ends a run that makes no progress: a warning at half of the time, then the stacks of all threads and exit status 124.
//
// Progress is a call of progress() by the run: a finished step, a batch of the evaluation, a phase of the start. The
// end of each wait for a disk is progress, too, for any writer. It may be a call of the file system, or one that a
// plugin announced (waits_for_disk of abi/core.h). While the process waits for the disk, it only warns, however long
// that takes, since an interrupted save has no use.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/platform/files/watched_files.h"
#include "runtime/platform/log/logger.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

struct WatchdogOptions {
  double no_progress_secs = 1800;  // 0: never
  // Returns what runs now, for the messages: "hook "x" in after_run at step 17". It is called on the watchdog's thread.
  std::function<std::string()> activity;
  const DiskCalls* disk = nullptr;  // borrowed; null: none are watched
  // A test sets it; it is called instead of ending the process.
  std::function<void()> give_up;
  // Called after the warning, unless the run waits for a disk. It saves as much as it can before the end.
  std::function<void()> on_warning = {};
  // Whether on_warning saves, also in the background. Its writes are no progress of the callback that hangs.
  std::function<bool()> saves_beside = {};
};

class Watchdog {
 public:
  Watchdog(WatchdogOptions options, Logger& log, Clock& clock);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  // It is cheap. Any thread may call it.
  void progress() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }

 private:
  struct Seen {
    std::uint64_t progress = 0, disk = 0;
    bool in_disk = false;  // a call is under way
  };
  Seen look() const noexcept;
  void watch();
  void warn(double seconds, bool in_disk);
  void give_up(double seconds);
  std::string where() const;

  WatchdogOptions options_;
  Logger& log_;
  Clock& clock_;
  std::atomic<std::uint64_t> count_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace belay::runtime
