// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace belay::runtime {

// The part of a run at this moment. It decides the status of an error that ends the run there (api/run_status.h).
enum class RunPart {
  kPlan,        // a replay looks for its checkpoint
  kDirectory,   // the run directory is taken or opened
  kPlugins,     // libraries are loaded and instances are made
  kScaffold,    // inputs are opened and graphs are built
  kHooks,       // hooks begin
  kTraining,    // steps are made, in a replay as well
  kEvaluation,  // after the training
  kExport,      // after the training
  kMode         // a mode that trains nothing does its work
};

}  // namespace belay::runtime
