// SPDX-License-Identifier: Apache-2.0
// The parts of a training's time. A thread looks a hundred times a second at the activity that the session's thread
// publishes (platform/threads/activity.h, CallMonitor). So no step reads a clock for it. After about ten seconds the
// shares are right to about one part in a hundred.
//
//   TimeShares times(run, events);                        // on the session's thread
//   const PublishesActivity publishing(times.activity());
//   times.start();                                        // the session is there: from now on it counts
//   ... steps ...
//   times.stop();
//   times.shares().text();      // "training 81%, input wait 3%, hooks 4% (summary_saver 3%), saving 2%, evaluation
//   10%"
//
// Every ten seconds, and at the end, it writes the shares as events (time/input_wait, time/hooks/NAME, ...). It adds
// the memory of the process, the free space on the run's disk and the attempt. If much of the time was not training, it
// logs the cause and the remedy, at most once in ten minutes.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/estimator/host/run_host.h"
#include "runtime/platform/log/logger.h"
#include "runtime/platform/threads/activity.h"
#include "runtime/platform/threads/background_thread.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

struct Shares {
  std::int64_t looks = 0;
  std::array<std::int64_t, kActivities> by_activity{};      // without those in hooks
  std::vector<std::pair<std::string, std::int64_t>> hooks;  // by instance name
  double seconds = 0;                                       // by the clock
  double cpu_seconds = 0;                                   // of the session's thread

  double of(Activity activity) const { return part(by_activity[static_cast<std::size_t>(activity)]); }
  double of_hooks() const;
  // The hook that took most time; empty: none was seen.
  std::optional<std::pair<std::string, double>> slowest_hook() const;
  std::string text() const;
  // The counts after `earlier`.
  Shares since(const Shares& earlier) const;

 private:
  double part(std::int64_t n) const { return looks == 0 ? 0 : static_cast<double>(n) / static_cast<double>(looks); }
};

// The part that slows a training down, and the remedy; empty: there is none.
std::string why_slow(const Shares& window);

class TimeShares {
 public:
  // All are borrowed; events may be null. It counts the processor time of the thread that makes it.
  TimeShares(RunHost& run, EventWriter* events);
  ~TimeShares();
  TimeShares(const TimeShares&) = delete;
  TimeShares& operator=(const TimeShares&) = delete;

  PublishedActivity& activity() noexcept { return activity_; }
  void start();
  void stop();
  // The thread does this each time.
  void look();
  // Any thread.
  Shares shares() const;

 private:
  void run();
  void look_back(const Shares& now);
  void say_if_slow(const Shares& window);
  void write_events(const Shares& window) const;

  RunHost& run_;
  const CallMonitor& monitor_;
  Clock& clock_;
  Logger& log_;
  EventWriter* const events_;
  PublishedActivity activity_{Activity::kComputing};
  const clockid_t cpu_clock_;
  std::int64_t start_ns_ = 0;
  double start_cpu_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Shares shares_;                                                           // under mutex_, as what follows
  std::vector<std::pair<const PluginInstance*, std::size_t>> hook_places_;  // in shares_.hooks
  bool stopping_ = false;

  Shares window_start_;  // of the thread
  std::optional<std::int64_t> said_ns_;
  BackgroundThread thread_{"belay-shares"};  // the last: it ends before what it uses
};

}  // namespace belay::runtime
