// SPDX-License-Identifier: Apache-2.0
// What a run says where it begins and where it ends: a line, and rows below it with what one wants to know then. In a
// JSON log a block is one object with fields.
#pragma once

#include <string>

#include "runtime/cli/arguments/manifest_arguments.h"
#include "runtime/estimator/run/prepared_run.h"

namespace belay::runtime {

// Model, data, optimizer, machine, room on the disk and memory that saving takes; new, or from which checkpoint and how
// old. When there is a session, before its first step; `ends`: why there will be none, else empty. A warning behind it
// where the disk is tight.
void say_begin(PreparedRun& run, const std::string& ends, Logger& log);

// Why it ended, the last and the best checkpoint, what the time went into, what the next start does and the next
// commands. `given`: what the run was started with; null: a --short run, of which nothing is kept.
void say_end(PreparedRun& run, const TrainingResult& result, const ManifestArguments* given, Logger& log);

// Logs what is saved after an error, and from where the next start continues.
void say_what_is_kept(PreparedRun& run, Logger& log);

// Behind a divergence, which `error` says: which command finds where it began. Nothing if no directory is kept, or a
// hook stopped the run for numbers that are finite.
void say_how_to_search(PreparedRun& run, const std::string& error, Logger& log);

}  // namespace belay::runtime
