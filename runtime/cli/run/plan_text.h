// SPDX-License-Identifier: Apache-2.0
// The parts of a run, for --dry-run and check: inputs, model, variables, hooks, one line each.
#pragma once

#include <string>

#include "runtime/estimator/run/prepared_run.h"

namespace belay::runtime {

// After build_scaffold().
std::string plan_text(const PreparedRun& run);

}  // namespace belay::runtime
