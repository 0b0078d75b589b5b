// SPDX-License-Identifier: Apache-2.0
// The blocks that a run logs at its begin and at its end: a line, and rows below it with the facts for that moment. In
// a JSON log a block is one object with fields.
#pragma once

#include <string>

#include "runtime/cli/arguments/manifest_arguments.h"
#include "runtime/estimator/run/prepared_run.h"

namespace belay::runtime {

// Model, data, optimizer, machine, room on the disk and memory that saving takes; new, or from which checkpoint and how
// old. When there is a session, before its first step; `ends`: why there will be none, else empty. A warning follows if
// the disk is tight.
void say_begin(PreparedRun& run, const std::string& ends, Logger& log);

// Why it ended, the last and the best checkpoint, what the time went into, what the next start does and the next
// commands. `given`: what the run was started with; null: a --short run, of which nothing is kept.
void say_end(PreparedRun& run, const TrainingResult& result, const ManifestArguments* given, Logger& log);

// Logs what is saved after an error, and from where the next start continues.
void say_what_is_kept(PreparedRun& run, Logger& log);

// After a divergence, which `error` names: the command that finds its first step. Nothing if no directory is kept, or a
// hook stopped the run for numbers that are finite.
void say_how_to_search(PreparedRun& run, const std::string& error, Logger& log);

}  // namespace belay::runtime
