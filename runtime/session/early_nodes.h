// SPDX-License-Identifier: Apache-2.0
// Finds the place of nodes that begin something beside the run (is_early): right after the last node that they need.
// Their usual place among the nodes of a stage would be after all earlier nodes of the graph.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/session/fusion.h"
#include "runtime/session/schedule.h"

namespace belay::runtime {

// Maps a node to the node that runs right after it. Several nodes after one are in the order of their making.
// `group_of` is by node; null: it is in no fused group.
std::multimap<std::uint32_t, std::uint32_t> early_nodes(const NodeGraph& graph, const NodeSchedule& schedule,
                                                        const std::vector<const FusedGroup*>& group_of);

}  // namespace belay::runtime
