// SPDX-License-Identifier: Apache-2.0
// The nodes that a set of targets needs, through values and control edges. A feed cuts off the nodes before it.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "runtime/session/node_facts.h"
#include "runtime/session/plan.h"

namespace belay::runtime {

class Closure {
 public:
  Closure(const NodeGraph& graph, const std::vector<Port>& feeds) : graph_(graph), seen_(graph.size(), false) {
    for (const Port& f : feeds) fed_.insert(port_key(f));
  }
  bool fed(Port p) const { return !fed_.empty() && fed_.count(port_key(p)) != 0; }
  // Adds the nodes that `node` needs, except those needed only for their shape. Calls f for each new node.
  template <class F>
  void add(std::uint32_t node, F&& f) {
    stack_.push_back(node);
    while (!stack_.empty()) {
      const std::uint32_t id = stack_.back();
      stack_.pop_back();
      if (seen_[id]) continue;
      seen_[id] = true;
      f(id);
      const Node& n = graph_.node(id);
      for (std::size_t i = 0; i < n.inputs.size(); ++i)
        if (!is_shape_only(n, i) && !fed(n.inputs[i])) stack_.push_back(n.inputs[i].node);
      for (const std::uint32_t c : n.control_inputs) stack_.push_back(c);
    }
  }
  void forget(std::uint32_t id) { seen_[id] = false; }

 private:
  const NodeGraph& graph_;
  std::vector<bool> seen_;
  std::unordered_set<std::uint64_t> fed_;
  std::vector<std::uint32_t> stack_;
};

}  // namespace belay::runtime
