// SPDX-License-Identifier: Apache-2.0
// Groups element-wise nodes of one shape. Only the last one's value is read outside the group. They become one step in
// tiles (runtime/ops/kernels/elementwise_chain.h). Members have float32 or booleans. They have no control edges, are in
// no commit stage and in no other group.
#pragma once

#include <vector>

#include "runtime/session/fusion.h"

namespace belay::runtime {

// Adds these groups to `groups`, beside those of the other patterns.
void find_elementwise_groups(const FusionView& view, std::vector<FusedGroup>& groups);

}  // namespace belay::runtime
