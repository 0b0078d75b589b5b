// SPDX-License-Identifier: Apache-2.0
// Finds nodes that a plan need not run. A folded node's value is known when the plan is made. A twin in the base
// computes the same as an earlier node. Both give the same bits as running them. Folding runs the same kernels. A twin
// is the same operation with the same attributes on the same inputs.
//
// It leaves alone nodes that are random, read or write variables, wait, have bodies or are in a commit stage. It also
// leaves alone nodes with control edges, before or after them, and feeds. It never depends on the hooks' fetches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime/session/closure.h"
#include "runtime/session/plan.h"

namespace belay::runtime {

struct Simplified {
  std::vector<std::uint32_t> twin;                        // by id: its replacement, or itself
  std::unordered_map<std::uint32_t, DenseTensor> folded;  // by id: output 0

  Port of(Port p) const { return {twin[p.node], p.index}; }
  // True if an input of `user` is this value, or one that it replaces.
  bool reads(const Node& user, Port value) const {
    return std::any_of(user.inputs.begin(), user.inputs.end(), [&](Port in) { return of(in) == value; });
  }
  bool runs(std::uint32_t id) const { return twin[id] == id && (folded.empty() || folded.count(id) == 0); }
};

// The facts about nodes, by id.
struct SimplifyView {
  const NodeGraph& graph;
  const Closure& feeds;
  const PlanKey& key;
  const std::vector<bool>& in_base;
  const std::vector<bool>& planned;
  const std::vector<bool>& ordered;  // in a commit stage, or after one
};

Simplified simplify(const SimplifyView& view);

// True if all attributes are the same, bit by bit. Large tensors are compared by identity.
bool same_attrs(const Attrs& a, const Attrs& b);

}  // namespace belay::runtime
