// SPDX-License-Identifier: Apache-2.0
// Where nodes run that begin something beside the run (is_early): right behind the last node that they need, and not in
// their own place among the nodes of a stage, which is behind all that the graph had before them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/session/fusion.h"
#include "runtime/session/schedule.h"

namespace belay::runtime {

// The node behind whose place each runs, and the node: several behind one in the order of their making. `group_of`: by
// node, null where it is in no fused group.
std::multimap<std::uint32_t, std::uint32_t> early_nodes(const NodeGraph& graph, const Schedule& schedule,
                                                        const std::vector<const FusedGroup*>& group_of);

}  // namespace belay::runtime
