// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/input_checks.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

// Those that a model gets.
std::vector<std::string> component_names(const std::vector<InputComponent>& components, bool labels) {
  std::vector<std::string> names;
  for (const InputComponent& c : components)
    if (c.label == labels && !is_only_an_id(components, c)) names.push_back(c.name);
  return names;
}

std::string variable_text(const NodeGraph& graph, const Port& port) {
  const auto& [dtype, shape] = graph.spec(port);
  return std::string(dtype_name(dtype)) + " " + shape.text();
}

}  // namespace

bool never_ends(const ResolvedPlugin& input, const PluginUse& section) {
  const OptionInfo* epochs = input.info.option("epochs");
  if (epochs == nullptr || epochs->type != OptionType::kInt) return false;
  std::optional<OptionValue> value = epochs->default_value;
  for (const PluginOption& option : section.options)
    if (option.key == "epochs") value = option.value;
  const auto* number = value ? std::get_if<std::int64_t>(&*value) : nullptr;
  return number != nullptr && *number == 0;
}

void check_components(const OtherInput& input, const std::vector<InputComponent>& components,
                      const std::vector<InputComponent>& training, bool labels, Diagnostics& problems) {
  for (const bool label : {false, true}) {
    if (label && !labels) continue;
    const std::vector<std::string> there = component_names(components, label);
    const std::vector<std::string> wanted = component_names(training, label);
    if (label && wanted.size() == 1 && there.size() == 1) continue;
    for (const std::string& name : wanted)
      if (std::find(there.begin(), there.end(), name) == there.end())
        problems.add(input.section.plugin_at,
                     "[input." + input.name + "] has no " + (label ? "label " : "feature ") + double_quoted(name) +
                         ", which [input.train] has",
                     there.empty() ? std::string("it has none") : "it has: " + joined(there));
  }
}

void check_variables(const OtherInput& input, const NodeGraph& graph, const NodeGraph& training,
                     const std::string& help, Diagnostics& problems) {
  for (const Port& p : graph.collection(collections::kGlobalVariables)) {
    const std::string& name = graph.node(p.node).name;
    const Node* trained = training.find_node(name);
    const std::string here = variable_text(graph, p);
    const std::string there = trained == nullptr ? "" : variable_text(training, {trained->id, 0});
    if (here == there) continue;
    problems.add(input.section.plugin_at,
                 "on [input." + input.name + "] the model's variable " + double_quoted(name) + " is " + here +
                     (there.empty() ? ", and the training has no such variable" : ", in the training it is " + there),
                 help);
    return;
  }
}

}  // namespace belay::runtime
