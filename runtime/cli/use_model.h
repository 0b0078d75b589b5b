// SPDX-License-Identifier: Apache-2.0
// What `belay evaluate` and `belay predict` print, and how they end.
#pragma once

#include "runtime/cli/command_line.h"
#include "runtime/cli/signals.h"
#include "runtime/cli/watchdog.h"
#include "runtime/estimator/manifest_run.h"

namespace belay::runtime {

// A line of stdout: "eval at step 400 on 1000 examples: loss = 0.08, accuracy = 0.975"
void print_result(Logger& log, const EvaluatedInput& result);

// Mode evaluate or predict of a run that is composed; an exit status.
int use_model(ManifestRun& run, Watchdog& watchdog, Logger& log, const Signals& signals,
              const ManifestArguments& arguments);

}  // namespace belay::runtime
