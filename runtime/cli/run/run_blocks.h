// SPDX-License-Identifier: Apache-2.0
// The blocks that a run logs at its beginning and at its end: a line, and rows with facts below it. In a JSON log a
// block is one object with fields.
#pragma once

#include <string>

#include "runtime/cli/arguments/manifest_arguments.h"
#include "runtime/estimator/run/prepared_run.h"

namespace belay::runtime {

// Logs model, data, optimizer, machine, free space on the disk and the memory for saving. It also logs that the run is
// new, or its checkpoint with its age. Call it when there is a session, before its first step. `ends`: why there will
// be no step, else empty. A warning follows if the disk is nearly full.
void say_begin(PreparedRun& run, const std::string& ends, Logger& log);

// Logs why it ended, the last and the best checkpoint, the shares of its time, the next start and the next commands.
// `given`: the arguments of the start; null: a --short run, which keeps nothing.
void say_end(PreparedRun& run, const TrainingResult& result, const ManifestArguments* given, Logger& log);

// Logs the saved state after an error, and from where the next start continues.
void say_what_is_kept(PreparedRun& run, Logger& log);

// Logs, after a divergence in `error`, the command that finds its first step. It logs nothing if no directory is kept,
// or if a hook stopped the run for finite numbers.
void say_how_to_search(PreparedRun& run, const std::string& error, Logger& log);

}  // namespace belay::runtime
