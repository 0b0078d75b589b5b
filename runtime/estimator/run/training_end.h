// SPDX-License-Identifier: Apache-2.0
// Why a training of a manifest ended, for people.
#pragma once

#include <string>

#include "runtime/estimator/run/prepared_run.h"

namespace belay::runtime {

// The reason, with the input's section, file and line if its end is the reason.
std::string why_it_ended(const PreparedRun& run, const TrainingResult& result);

// That neither this start nor an earlier one made a step, with the reason and what helps. Empty: one did, or somebody
// stopped the run from outside.
std::string untrained_text(const PreparedRun& run, const TrainingResult& result);

}  // namespace belay::runtime
