// SPDX-License-Identifier: Apache-2.0
// The parts of a run, for --dry-run and check: inputs, model, variables and hooks, each on one line.
#pragma once

#include <string>

#include "runtime/estimator/run/prepared_run.h"

namespace belay::runtime {

// Call it after build_scaffold().
std::string plan_text(const PreparedRun& run);

}  // namespace belay::runtime
