// SPDX-License-Identifier: Apache-2.0
// The requests of a signal or the watchdog to a run, from another thread. It also makes the report if the run ends
// early.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "runtime/monitored/layers/monitored_session.h"
#include "runtime/platform/files/watched_files.h"

namespace belay::runtime {

class RunControl {
 public:
  // Stops at the next step's boundary.
  void stop(const std::string& reason);
  void save() noexcept { save_requested_ = true; }
  bool stopping() const noexcept { return stopping_.load(); }
  std::string stop_reason() const;
  // Ends the wait in which the run is at this moment. May be called again and again.
  void wake(const Error& reason);
  // Saves beside a hanging hook of the training. A separate thread does it (MonitoredSession).
  void save_beside_hook();
  // Whether the last call saves now, or has saved and may still write in the background.
  bool saves_beside_hook() const noexcept { return saves_ || saved_; }
  CancellationSource& interrupt() noexcept { return interrupt_; }
  // The calls of the run's file system.
  DiskCalls& disk() noexcept { return disk_; }

  // ---- from the run's thread
  void note_step(std::int64_t step) noexcept { step_.store(step, std::memory_order_relaxed); }
  void note_saved(const std::string& path, std::int64_t step);
  bool take_save_request() noexcept { return save_requested_.exchange(false); }
  // Returns a clause about the last checkpoint: its path, and how many steps are lost after it. Any thread.
  std::string what_is_kept() const;

  // While it lives, wake() also interrupts the session's run. It does not in the calls of `end`, which still need the
  // session.
  class Interruptible {
   public:
    Interruptible(RunControl& control, MonitoredSession& session);
    ~Interruptible();
    Interruptible(const Interruptible&) = delete;
    Interruptible& operator=(const Interruptible&) = delete;

   private:
    RunControl& control_;
  };

 private:
  mutable std::mutex mutex_;
  std::string reason_;
  std::string saved_path_;  // empty: nothing is saved
  std::int64_t saved_step_ = -1;
  MonitoredSession* session_ = nullptr;  // its runs may be interrupted
  std::thread saving_;                   // beside a hook; ends before session_ does
  std::atomic<bool> saved_{false};       // by the last call
  std::atomic<bool> saves_{false};       // it is under way
  std::atomic<bool> stopping_{false};
  std::atomic<bool> save_requested_{false};
  std::atomic<std::int64_t> step_{-1};
  DiskCalls disk_;
  CancellationSource interrupt_;
};

}  // namespace belay::runtime
