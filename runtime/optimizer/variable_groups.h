// SPDX-License-Identifier: Apache-2.0
// Finds the group in [optimizer] of each trainable variable.
#pragma once

#include <string>
#include <vector>

#include "belay/graph.h"
#include "belay/runtime/optimizer_settings.h"

namespace belay::runtime {

inline constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1);

// Returns an index into `groups`, or kNoGroup, for each variable in the collection of trainable variables. If several
// groups match a variable, the first counts.
std::vector<std::size_t> groups_of_variables(const Graph& graph, const std::vector<VariableGroup>& groups);

struct GroupProblem {
  std::size_t group = 0;
  std::string message;
  std::string help;
};
// Returns patterns without a matching variable, and variables that two patterns match.
std::vector<GroupProblem> problems_of_groups(const Graph& graph, const std::vector<VariableGroup>& groups);

}  // namespace belay::runtime
