// SPDX-License-Identifier: Apache-2.0
// The host steps of a stage: operations that wait, or whose output's shape only running shows. They run without a gate,
// and pass whole tensors to the run's state.
#pragma once

#include <cstdint>

#include "runtime/session/direct_session.h"
#include "runtime/session/plan_state.h"

namespace belay::runtime {

// `seed` is the session's. An error names the node. A kernel's results must fit its declared outputs.
void run_host_steps(DirectSession& session, PlanState& state, std::uint32_t stage, const RunRequest& request,
                    const CancelToken& cancel, std::uint64_t seed);

// Returns queue elements to their pools.
void drop_host_values(PlanState& state) noexcept;

}  // namespace belay::runtime
