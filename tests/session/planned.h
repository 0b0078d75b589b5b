// SPDX-License-Identifier: Apache-2.0
// Plans of a graph under test, and their contents.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {

class PlanTest : public SessionTest {
 protected:
  // All placeholders are fed.
  std::unique_ptr<Plan> plan(const std::vector<Output>& fetches, const std::vector<Output>& hook_fetches = {}) {
    PlanKey key;
    for (const Output& o : fetches) key.fetches.push_back(graph.resolve(o.raw()));
    for (std::uint32_t id = 0; id < graph.size(); ++id)
      if (graph.node(id).op->name == "Placeholder") key.feeds.push_back({id, 0});
    std::vector<Port> ports;
    for (const Output& o : hook_fetches) ports.push_back(graph.resolve(o.raw()));
    return make_plan(graph, key, ports);
  }
  // The steps of all stages but copies for fetches: "MatMul", of a fused one "MatMul+BiasAdd".
  static std::vector<std::string> steps(const Plan& plan) {
    std::vector<std::string> found;
    for (const PlanStage& stage : plan.stages)
      for (const PlanStep& step : stage.steps) {
        if (step.slot != kNoValue) continue;
        std::string text = step.members.empty() ? step.node->op->name : "";
        for (const Node* n : step.members) text += (text.empty() ? "" : "+") + n->op->name;
        found.push_back(text);
      }
    return found;
  }
  // The names of the nodes that were computed when the plan was made.
  std::vector<std::string> folded(const Plan& plan) {
    std::vector<std::string> names;
    for (const std::uint32_t id : plan.folded) names.push_back(graph.node(id).name);
    return names;
  }
  std::vector<std::string> twins(const Plan& plan) {
    std::vector<std::string> names;
    for (const auto& [node, twin] : plan.twins) names.push_back(graph.node(node).name + " = " + graph.node(twin).name);
    return names;
  }
  using Names = std::vector<std::string>;
};

}  // namespace belay::runtime::testing
