// SPDX-License-Identifier: Apache-2.0
// What a training does when, in a file for ui.perfetto.dev and chrome://tracing (the JSON array of Chrome's trace
// events): a slice for each step, in it one for each callback of a hook, for the run and for the wait for the input;
// saves and evaluations between the steps; in a second track the operations of each run; in a third one, in a training
// of several processes, when its gradients were under way.
//
//   RunTrace trace(directory, "trace.json", clock, log);
//   const ObservesActivity observing(trace);      // on the session's thread: saves, evaluations and waits
//   MonitoredSessionOptions options; options.trace = &trace;
//
// Each step is written when it is over, in one write, so a process that is killed leaves whole lines; the array is open
// then, which readers allow. The file has at most kMostBytes: behind them nothing more is traced, and the log says so.
// A file that cannot be written ends the trace with a warning, and never the training; its last line may be cut then.
// One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/platform/activity.h"
#include "runtime/platform/clock.h"
#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"
#include "runtime/session/program.h"

namespace belay::runtime {

class RunTrace final : public ActivityObserver {
 public:
  static constexpr std::uint64_t kMostBytes = 64 << 20;

  // Replaces the file `name`. Clock and log are borrowed. Throws what the file system throws.
  RunTrace(OpenDirectory& directory, const std::string& name, Clock& clock, Logger& log,
           std::uint64_t most_bytes = kMostBytes);
  ~RunTrace() override;  // closes the array
  RunTrace(const RunTrace&) = delete;
  RunTrace& operator=(const RunTrace&) = delete;

  // False: the file is full, or cannot be written.
  bool on() const noexcept { return file_ != nullptr; }
  std::int64_t now_ns() noexcept override { return clock_.monotonic_ns(); }
  // From start_ns until now. `what` may be empty: "after_run" of the hook `name`.
  void add(std::string_view category, std::string_view name, std::string_view what, std::int64_t start_ns) noexcept;
  void add_operations(std::span<const NodeStats> nodes) noexcept;
  // What went on beside the session's thread: an exchange with the other ranks, in a third track.
  void add_exchange(const std::string& name, std::int64_t start_ns, std::int64_t end_ns) noexcept;
  void did(Activity activity, std::int64_t start_ns) noexcept override;
  // Writes what was added.
  void flush() noexcept;

 private:
  void add_slice(std::string_view category, const std::string& name, int track, std::int64_t start_ns,
                 std::int64_t end_ns);
  void give_up(const std::string& why) noexcept;

  std::unique_ptr<OpenFile> file_;  // null behind give_up
  const std::string path_;
  Clock& clock_;
  Logger& log_;
  const std::uint64_t most_bytes_;
  const std::int64_t start_ns_;
  std::uint64_t written_ = 0;
  bool exchanges_ = false;  // the third track is there
  std::string lines_;
};

// A slice of a callback or the like, while it lives; of no cost but a look at the pointer where `trace` is null.
class TracedCall {
 public:
  TracedCall(RunTrace* trace, std::string_view category, std::string_view name, std::string_view what = {}) noexcept
      : trace_(trace), category_(category), name_(name), what_(what) {
    if (trace_ != nullptr) start_ns_ = trace_->now_ns();
  }
  ~TracedCall() {
    if (trace_ != nullptr) trace_->add(category_, name_, what_, start_ns_);
  }
  TracedCall(const TracedCall&) = delete;
  TracedCall& operator=(const TracedCall&) = delete;

 private:
  RunTrace* const trace_;
  const std::string_view category_, name_, what_;
  std::int64_t start_ns_ = 0;
};

}  // namespace belay::runtime
