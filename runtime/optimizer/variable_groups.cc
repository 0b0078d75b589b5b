// SPDX-License-Identifier: Apache-2.0
#include "runtime/optimizer/variable_groups.h"

#include <fmt/core.h>

#include <fnmatch.h>

#include <algorithm>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::vector<std::string> names_of_variables(const Graph& graph) {
  std::vector<std::string> names;
  for (const Output& v : graph.collection(collections::kTrainableVariables)) names.push_back(graph.node_name_of(v));
  return names;
}

// It uses no flags: * also matches '/', as users expect of names that are no files.
bool matches(const VariableGroup& group, const std::string& name) {
  return fnmatch(group.vars.c_str(), name.c_str(), 0) == 0;
}

// Returns "groups.0 (vars = "conv*")".
std::string group_text(const std::vector<VariableGroup>& groups, std::size_t i) {
  return fmt::format("optimizer.groups.{} (vars = {})", i, double_quoted(groups[i].vars));
}

std::string help_for_no_match(const std::string& pattern, const std::vector<std::string>& names) {
  constexpr std::size_t kListed = 8;
  if (const std::string near = nearest(pattern, names); !near.empty())
    return "did you mean " + double_quoted(near) + "?";
  std::vector<std::string> some(names.begin(),
                                names.begin() + static_cast<std::ptrdiff_t>(std::min(kListed, names.size())));
  if (names.size() > kListed) some.push_back(fmt::format("... ({} in all)", names.size()));
  return names.empty() ? "the graph has none" : "they are " + joined(some);
}

}  // namespace

std::vector<std::size_t> groups_of_variables(const Graph& graph, const std::vector<VariableGroup>& groups) {
  std::vector<std::size_t> found;
  for (const std::string& name : names_of_variables(graph)) {
    std::size_t i = 0;
    while (i < groups.size() && !matches(groups[i], name)) ++i;
    found.push_back(i < groups.size() ? i : kNoGroup);
  }
  return found;
}

std::vector<GroupProblem> problems_of_groups(const Graph& graph, const std::vector<VariableGroup>& groups) {
  std::vector<GroupProblem> problems;
  const std::vector<std::string> names = names_of_variables(graph);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    bool any = false;
    for (const std::string& name : names) {
      if (!matches(groups[i], name)) continue;
      any = true;
      std::size_t first = 0;
      while (!matches(groups[first], name)) ++first;
      if (first == i) continue;
      problems.push_back({i,
                          group_text(groups, i) + " matches the variable " + double_quoted(name) + ", which " +
                              group_text(groups, first) + " matches, too",
                          "a variable is in one group: make one of the patterns narrower"});
      break;
    }
    if (!any)
      problems.push_back(
          {i, group_text(groups, i) + " matches no trainable variable", help_for_no_match(groups[i].vars, names)});
  }
  return problems;
}

}  // namespace belay::runtime
