// SPDX-License-Identifier: Apache-2.0
// Element-wise nodes of one shape whose values are read only inside the group, but for the last one's: they become one
// step that works in tiles (runtime/ops/kernels/elementwise_chain.h). float32 and booleans; nothing that a control edge
// touches, that a commit stage runs or that another group has taken.
#pragma once

#include <vector>

#include "runtime/session/fusion.h"

namespace belay::runtime {

// Adds them to `groups`, which are those of the other patterns.
void find_elementwise_groups(const FusionView& view, std::vector<FusedGroup>& groups);

}  // namespace belay::runtime
