// SPDX-License-Identifier: Apache-2.0
// prepare() brings a run through its stages. Afterwards the run is complete, or `problems` has each mistake of the
// manifest. Then a function of its mode uses the run.
//
//   PreparedRun run(manifest, options, platform, environment, control);
//   const RunStatus status = prepare(run, problems, Preparation::kRun, calls);
//   if (status == RunStatus::kDone) train(run, progress);
//
// [main]
#pragma once

#include <functional>

#include "belay/runtime/run.h"
#include "runtime/estimator/run/prepared_run.h"
#include "runtime/estimator/run/run_part.h"
#include "runtime/manifest/diagnostics.h"

namespace belay::runtime {

// How far a run is prepared. Each value includes the ones before it.
enum class Preparation {
  kNames,    // names and options fit the plugins' notes; no code of a plugin runs
  kGraph,    // plugins, inputs, graph and hooks; nothing is written
  kCompare,  // compared with the earlier training in its directory; nothing is written
  kRun       // its run directory is taken, and stays
};

// The caller of prepare() adds these.
struct PrepareCalls {
  // Runs one stage and reports its errors and problems. Another status than kDone ends the preparation. It skips the
  // stage if there are problems before it.
  std::function<RunStatus(RunPart part, const std::function<void()>& stage)> stage;
  // Called after libraries and instances, and after the graph.
  std::function<void()> phase_over = [] {};
  // Called before the run directory stays, in a stage of kDirectory. Another status than kDone ends the preparation.
  std::function<RunStatus()> opens_directory = [] { return RunStatus::kDone; };
};

// kDone: the run is prepared so far. kPlugin and kUsage: `problems` has the reasons. Other statuses are those of the
// calls. A later call continues after kNames.
RunStatus prepare(PreparedRun& run, Diagnostics& problems, Preparation until, const PrepareCalls& calls);

// Warns if the previous attempt ended without a note. It changes nothing; it is for `belay check`.
void tell_last_attempt(const PreparedRun& run);

// ---- the stages, in their order: each uses the results of the previous ones

// Returns false if a plugin is at fault (exit status 3 instead of 2); `problems` has all.
bool find_plugins(PreparedRun& run, Diagnostics& problems);
// Makes and locks the directory in mode train, with the mark of this attempt. RunInUse; PERMISSION_DENIED and others.
// The end of the run removes what this made, unless open_directory() follows.
void take_directory(PreparedRun& run);
// Compares with the training of the newest checkpoint. It changes nothing, and needs no directory of take_directory().
void compare_with_earlier(PreparedRun& run, Diagnostics& problems);
// Throws LoadError, or an instance's error. A mistake in the options of an instance is a problem.
void load_plugins(PreparedRun& run, Diagnostics& problems);
// Compares program, processor and plugins with those of the earlier training. Without --exact it does nothing.
void compare_fingerprint(const PreparedRun& run, Diagnostics& problems);
// Opens the inputs and builds the graphs of the mode. The first batch is fetched, so an empty input shows. Mistakes of
// names and options, and an evaluation input that does not fit the training, become problems. Other mistakes are
// thrown.
void build_scaffold(PreparedRun& run, Diagnostics& problems);
// If a hook asks for a name that does not exist, that is a problem. Its other errors are thrown.
void begin_hooks(PreparedRun& run, Diagnostics& problems);
// Keeps the directory from here on, in mode train. PERMISSION_DENIED and others.
void open_directory(PreparedRun& run);

}  // namespace belay::runtime
