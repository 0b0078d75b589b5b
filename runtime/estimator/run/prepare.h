// SPDX-License-Identifier: Apache-2.0
// The stages that prepare a run, in their order. Each uses what the previous ones have made, and no stage reaches back.
//
//   find_plugins(run, problems)          // names and options against the notes; no code of a plugin runs
//   take_directory(run)                  // mode train: the directory is made and locked, with the mark of this attempt
//   compare_with_earlier(run, problems)  // with the training that the newest checkpoint is of
//   load_plugins(run, problems)          // libraries, then instances
//   compare_fingerprint(run, problems)   // the same of program, processor and plugins
//   build_scaffold(run, problems)        // inputs opened, graphs built; still nothing to keep
//   begin_hooks(run, problems)           // the names that they look for in the graph
//   open_directory(run)                  // mode train: from here on the directory stays
//
// `problems` gets each mistake of the manifest. The run is not used further if there is one. [main]
#pragma once

#include "runtime/estimator/run/prepared_run.h"
#include "runtime/manifest/diagnostics.h"

namespace belay::runtime {

// False if a plugin is the trouble (exit status 3 instead of 2); `problems` has all.
bool find_plugins(PreparedRun& run, Diagnostics& problems);

// RunInUse; PERMISSION_DENIED and others. The end of the run removes what this made, unless open_directory() follows.
void take_directory(PreparedRun& run);
// A warning if the previous attempt ended without a word. Changes nothing; for `belay check`.
void tell_last_attempt(const PreparedRun& run);
// PERMISSION_DENIED and others.
void open_directory(PreparedRun& run);

// Changes nothing, and needs no directory that was taken.
void compare_with_earlier(PreparedRun& run, Diagnostics& problems);
// Nothing without --exact.
void compare_fingerprint(const PreparedRun& run, Diagnostics& problems);

// LoadError, or an instance's own error. A mistake in the options of an instance is a problem.
void load_plugins(PreparedRun& run, Diagnostics& problems);

// Opens the inputs and builds the graphs of the mode. The first batch is fetched, so an empty input shows. Problems
// are: a name that the graph does not have, an option that an input or the model refuses, and an evaluation input that
// does not fit the training. Other mistakes are thrown.
void build_scaffold(PreparedRun& run, Diagnostics& problems);

// A name that a hook looks for in vain is a problem. Its other errors are thrown.
void begin_hooks(PreparedRun& run, Diagnostics& problems);

}  // namespace belay::runtime
