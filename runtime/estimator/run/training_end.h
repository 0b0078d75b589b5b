// SPDX-License-Identifier: Apache-2.0
// These explain to people why a training of a manifest ended.
#pragma once

#include <string>

#include "runtime/estimator/run/prepared_run.h"

namespace belay::runtime {

// Returns the reason. If the end of an input is the reason, its section, file and line are added.
std::string why_it_ended(const PreparedRun& run, const TrainingResult& result);

// Returns the message that neither this start nor an earlier one made a step, with the reason and the fix. Empty if one
// did, or if the run was stopped from outside.
std::string untrained_text(const PreparedRun& run, const TrainingResult& result);

}  // namespace belay::runtime
