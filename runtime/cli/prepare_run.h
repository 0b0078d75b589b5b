// SPDX-License-Identifier: Apache-2.0
// What the commands that work on a manifest have in common: all that comes before a run directory.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cli/command_line.h"
#include "runtime/cli/end_report.h"
#include "runtime/cli/watchdog.h"
#include "runtime/estimator/manifest_run.h"

namespace belay::runtime {

Platform make_platform(Logger& log);

// What is wrong with a manifest, on stderr: as text for people, or as JSON, an object a line, with the keys file, line,
// column, length, message and help.
void print(const Diagnostics& problems, const ManifestArguments& arguments);

// An error that ended what the run was doing, behind what that was ("the evaluation failed: "): a line of the log, and
// the lines of data files that it names as print() does.
void report_error(Logger& log, const std::string& what, const Error& error, const ManifestRun& run,
                  const ManifestArguments& arguments);

// A run, what it says where a plugin crashes, and what ends it where one hangs: from the moment that the first is
// loaded.
struct PreparedRun {
  PreparedRun() = default;
  PreparedRun(const PreparedRun&) = delete;
  PreparedRun& operator=(const PreparedRun&) = delete;
  ~PreparedRun() { close(); }
  // What destroys the instances may crash, too.
  void close() {
    watchdog.reset();
    run.reset();
  }

  std::optional<EndReport> end_report;
  std::unique_ptr<ManifestRun> run;
  std::string refusal;  // the first of what was found wrong; empty: nothing
  std::optional<Watchdog> watchdog;
};

// All that comes before the first write: manifest, plugins, inputs, graph. Returns an exit status, kExitDone to go on.
// Each stage's problems are reported here. `before_plugins` is called when the manifest is found to be right, before
// the first plugin is loaded; its status and the problems that it adds count as well.
int prepare_run(PreparedRun& prepared, const ManifestArguments& arguments, const ManifestRunOptions& options,
                const Platform& platform, RunControl& control,
                const std::function<int(ManifestRun&, Diagnostics&)>& before_plugins = {});
// The same of a manifest that was read already; none: it could not be. `problems`: what was found wrong with it.
int prepare_run(PreparedRun& prepared, std::optional<Manifest> manifest, Diagnostics& problems,
                const ManifestArguments& arguments, const ManifestRunOptions& options, const Platform& platform,
                RunControl& control, const std::function<int(ManifestRun&, Diagnostics&)>& before_plugins = {});

}  // namespace belay::runtime
