// SPDX-License-Identifier: Apache-2.0
// Records the times of a training's parts. The file is for ui.perfetto.dev and chrome://tracing (the JSON array of
// Chrome's trace events). The first track has a slice for each step. In it are slices for each callback of a hook, for
// the run and for the wait for the input. Saves and evaluations are between the steps. The second track has the
// operations of each run. The third one, for a training of several processes, has the exchanges of its gradients.
//
//   RunTrace trace(directory, "trace.json", clock, log);
//   const ObservesActivity observing(trace);      // on the session's thread: saves, evaluations and waits
//   MonitoredSessionOptions options; options.trace = &trace;
//
// Each step is written when it is over, in one write, so a killed process leaves whole lines. The array then stays
// open, which readers allow. The file has at most kMostBytes. After that nothing more is traced, and the log reports
// it. An unwritable file ends the trace with a warning, and never the training. Its last line may then be cut. One
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"
#include "runtime/platform/threads/activity.h"
#include "runtime/platform/threads/clock.h"
#include "runtime/session/program.h"

namespace belay::runtime {

class RunTrace final : public ActivityObserver {
 public:
  static constexpr std::uint64_t kMostBytes = 64 << 20;

  // Replaces the file `name`. Borrows the clock and the log. Throws the errors of the file system.
  RunTrace(OpenDirectory& directory, const std::string& name, Clock& clock, Logger& log,
           std::uint64_t most_bytes = kMostBytes);
  ~RunTrace() override;  // closes the array
  RunTrace(const RunTrace&) = delete;
  RunTrace& operator=(const RunTrace&) = delete;

  // Returns false if the file is full, or cannot be written.
  bool on() const noexcept { return file_ != nullptr; }
  std::int64_t now_ns() noexcept override { return clock_.monotonic_ns(); }
  // Adds a slice from start_ns until now. `what` may be empty: "after_run" of the hook `name`.
  void add(std::string_view category, std::string_view name, std::string_view what, std::int64_t start_ns) noexcept;
  void add_operations(std::span<const TracedNode> nodes) noexcept;
  // Adds an exchange with the other ranks, in a third track. It ran beside the session's thread.
  void add_exchange(const std::string& name, std::int64_t start_ns, std::int64_t end_ns) noexcept;
  void did(Activity activity, std::int64_t start_ns) noexcept override;
  // Writes the added slices.
  void flush() noexcept;

 private:
  void add_slice(std::string_view category, const std::string& name, int track, std::int64_t start_ns,
                 std::int64_t end_ns);
  void give_up(const std::string& why) noexcept;

  std::unique_ptr<OpenFile> file_;  // null after give_up
  const std::string path_;
  Clock& clock_;
  Logger& log_;
  const std::uint64_t most_bytes_;
  const std::int64_t start_ns_;
  std::uint64_t written_ = 0;
  bool exchanges_ = false;  // the third track exists
  std::string lines_;
};

// A slice of a callback or the like, while it lives. If `trace` is null, it costs only a look at the pointer.
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
