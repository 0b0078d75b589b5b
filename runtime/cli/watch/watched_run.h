// SPDX-License-Identifier: Apache-2.0
// The part that all commands on a manifest share: everything before a run directory.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/api/run_observer.h"
#include "runtime/cli/arguments/manifest_arguments.h"
#include "runtime/cli/watch/end_report.h"
#include "runtime/cli/watch/watchdog.h"
#include "runtime/estimator/run/prepare.h"

namespace belay::runtime {

Platform make_platform(Logger& log);

// Prints a manifest's problems on stderr: as text for people, or as JSON, an object a line, with the keys file, line,
// column, length, message and help.
void print(const Diagnostics& problems, const ManifestArguments& arguments);

// A run, the report of a plugin that crashes in it, and the watchdog for a plugin that hangs. Both work from before the
// first plugin is loaded. Problems of the run are printed on stderr.
struct WatchedRun : RunObserver {
  // Platform and control are borrowed.
  WatchedRun(const Platform& platform, RunControl& control, ManifestArguments arguments = {});
  WatchedRun(const WatchedRun&) = delete;
  WatchedRun& operator=(const WatchedRun&) = delete;
  ~WatchedRun() override;
  // Destroys the plugins' instances, which may crash or hang too.
  void close();
  // Whether close() has begun. [any thread]
  bool closing() const noexcept { return life_ != Life::kRuns; }
  // The callback of a plugin that runs at the moment; empty: none. [any thread]
  std::string activity() const;

  // Reads the manifest, and finds its plugins; no plugin is loaded. Returns an exit status, kExitDone to continue.
  int find();
  // Finds the plugins of a manifest that was read already. None: it could not be read, and `problems` has the reasons.
  int find(std::optional<Manifest> manifest);
  // Does the rest of the preparation. Call it after find().
  int prepare(Preparation until);

  void refused(const Diagnostics& found) override;
  void failed(RunPart part, const Error& error, Diagnostics& found) override;
  std::string refusal() const override { return first_wrong; }
  void phase_over() override { watchdog->progress(); }
  void progress() override { watchdog->progress(); }

  // Logs an error that ended the current work. `what` comes before it ("the evaluation failed: "). It also prints the
  // lines of data files that the error names, like print().
  void report_error(const std::string& what, const Error& error) const;
  // Returns the message of an error that ended a run. Without a code of its cause, as if a plugin threw, it is B2046.
  static std::string end_text(const std::string& what, const Error& error);

  const Platform platform;
  RunControl& control;
  const ManifestArguments given;
  PreparedRunOptions options;  // set before find()
  Diagnostics problems;
  std::optional<EndReport> end_report;
  std::unique_ptr<PreparedRun> run;
  std::string first_wrong;  // of what was found; empty: nothing
  std::optional<Watchdog> watchdog;

 private:
  enum class Life : int { kRuns, kCloses, kIsOver };
  void set(Life life) noexcept;

  mutable std::mutex mutex_;  // run is not destroyed while activity() asks it
  std::atomic<Life> life_{Life::kRuns};
};

}  // namespace belay::runtime
