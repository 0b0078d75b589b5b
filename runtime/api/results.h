// SPDX-License-Identifier: Apache-2.0
// Results of a monitored session as the SDK's RunResult, and the requests of its runs.
#pragma once

#include <vector>

#include "belay/session.h"
#include "runtime/monitored/layers/monitored_session.h"

namespace belay::runtime {

RunResult run_result(FetchedValues values, const std::vector<FetchRef>& fetches);
// Makes a run with hooks inside a step function.
RunResult run_in_step(StepFnContext& context, const std::vector<FetchRef>& fetches, const Feeds& feeds);
// Returns the stores that all sessions of this process share by their targets: "local:NAME".
std::shared_ptr<StoreTargets> process_targets();

}  // namespace belay::runtime
