// SPDX-License-Identifier: Apache-2.0
// Nodes that a plan need not run: those whose value is known when the plan is made (folded), and those of the base that
// compute what an earlier one does (twins). Both give the bits that running them would give: folding runs the same
// kernels, a twin is the same operation with the same attributes on the same inputs.
//
// Left alone: what is random, reads or writes variables, waits, has bodies or is in a commit stage; what runs after
// other nodes by control edges, or others after it; what is fed. It never depends on the hooks' fetches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "runtime/session/closure.h"
#include "runtime/session/plan.h"

namespace belay::runtime {

struct Simplified {
  std::vector<std::uint32_t> twin;                        // by id: the node that replaces it, or itself
  std::unordered_map<std::uint32_t, DenseTensor> folded;  // by id: output 0

  Port of(Port p) const { return {twin[p.node], p.index}; }
  // An input of `user` is this value, or one that it replaces.
  bool reads(const Node& user, Port value) const {
    return std::any_of(user.inputs.begin(), user.inputs.end(), [&](Port in) { return of(in) == value; });
  }
  bool runs(std::uint32_t id) const { return twin[id] == id && (folded.empty() || folded.count(id) == 0); }
};

// What the nodes are asked about, by id.
struct SimplifyView {
  const NodeGraph& graph;
  const Closure& feeds;
  const PlanKey& key;
  const std::vector<bool>& in_base;
  const std::vector<bool>& planned;
  const std::vector<bool>& ordered;  // is in a commit stage or behind one
};

Simplified simplify(const SimplifyView& view);

// Whether all attributes are the same, bit by bit. Large tensors are compared as who they are.
bool same_attrs(const Attrs& a, const Attrs& b);

}  // namespace belay::runtime
