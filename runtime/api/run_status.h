// SPDX-License-Identifier: Apache-2.0
// What an error means for the status that a run ends with. `belay` and programs go by this one table.
#pragma once

#include "belay/error.h"
#include "belay/runtime/run.h"

namespace belay::runtime {

// What a run was doing when an error ended it.
enum class RunPart {
  kPlan,        // a replay looks for what to begin with
  kDirectory,   // the run directory is taken or opened
  kPlugins,     // libraries are loaded and instances are made
  kScaffold,    // inputs are opened and graphs are built
  kHooks,       // hooks begin
  kTraining,    // steps are made, in a replay as well
  kEvaluation,  // after the training
  kExport,      // after the training
  kMode         // a mode that trains nothing does its work
};

RunStatus status_of(RunPart part, const Error& error);

}  // namespace belay::runtime
