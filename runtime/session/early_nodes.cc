// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/early_nodes.h"

#include <algorithm>

#include "runtime/session/node_facts.h"

namespace belay::runtime {

std::multimap<std::uint32_t, std::uint32_t> early_nodes(const NodeGraph& graph, const NodeSchedule& schedule,
                                                        const std::vector<const FusedGroup*>& group_of) {
  std::multimap<std::uint32_t, std::uint32_t> nodes;
  std::map<std::uint32_t, std::uint32_t> place_of;  // of the nodes that were found
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Node& n = graph.node(id);
    if (!schedule.planned[id] || !is_early(n)) continue;
    std::uint32_t place = 0;
    const auto behind = [&](std::uint32_t needed) {
      const auto early = place_of.find(needed);
      std::uint32_t made = early != place_of.end() ? early->second : needed;
      const FusedGroup* group = group_of[schedule.simplified.twin[needed]];
      if (group != nullptr) made = std::max(made, group->at_first ? group->members.front() : group->members.back());
      place = std::max(place, made);
    };
    for (const Port& in : n.inputs) behind(in.node);
    for (const std::uint32_t c : n.control_inputs) behind(c);
    place_of[id] = place;
    nodes.emplace(place, id);
  }
  return nodes;
}

}  // namespace belay::runtime
