// SPDX-License-Identifier: Apache-2.0
// Which of [optimizer]'s groups each trainable variable is in.
#pragma once

#include <string>
#include <vector>

#include "belay/graph.h"
#include "belay/runtime/optimizer_settings.h"

namespace belay::runtime {

inline constexpr std::size_t kNoGroup = static_cast<std::size_t>(-1);

// By the variables' places in the collection of trainable variables: an index into `groups`, or kNoGroup. Of a variable
// that several match, the first.
std::vector<std::size_t> groups_of_variables(const Graph& graph, const std::vector<VariableGroup>& groups);

struct GroupProblem {
  std::size_t group = 0;
  std::string message;
  std::string help;
};
// Patterns that no variable matches, and variables that two of them match.
std::vector<GroupProblem> problems_of_groups(const Graph& graph, const std::vector<VariableGroup>& groups);

}  // namespace belay::runtime
