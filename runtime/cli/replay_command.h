// SPDX-License-Identifier: Apache-2.0
// `belay replay`: steps of a run once more, from its checkpoint before them, with hooks that were not there. The run's
// directory is only read.
#pragma once

#include "runtime/estimator/replay/replay_request.h"

namespace belay::runtime {

// An exit status: kExitTrainingFailed where the bits are not those of the run.
int replay_command(const ReplayRequest& request);

}  // namespace belay::runtime
