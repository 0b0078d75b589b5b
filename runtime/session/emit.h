// SPDX-License-Identifier: Apache-2.0
// The last part of planning: turns a schedule and its fused groups into the steps, values and reads of a plan.
#pragma once

#include <vector>

#include "runtime/session/fusion.h"
#include "runtime/session/schedule.h"

namespace belay::runtime {

// On entry the plan has its key, its slots and empty stages.
void emit_steps(const NodeGraph& graph, const Closure& feeds, const NodeSchedule& schedule,
                const std::vector<FusedGroup>& groups, Plan& plan);

}  // namespace belay::runtime
