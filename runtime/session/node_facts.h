// SPDX-License-Identifier: Apache-2.0
// Facts about a node's inputs and effects, for the planner.
#pragma once

#include <cstddef>

#include "runtime/graph/node_graph.h"

namespace belay::runtime {

inline bool is_effect(const Node& n) {
  return n.op->effect == Effect::kWrite || n.op->effect == Effect::kBlocking || n.op->effect == Effect::kState;
}
inline bool is_host(const Node& n) { return n.op->host_kernel != nullptr; }
// True if the node begins something beside the run. So it runs as soon as its inputs exist.
inline bool is_early(const Node& n) { return n.op->effect == Effect::kState && n.op->kernel != nullptr; }
// True if input i names a variable.
inline bool is_ref(const Node& n, std::size_t i) {
  return n.op->ref_inputs == kAllInputs || (i < 32 && ((n.op->ref_inputs >> i) & 1) != 0);
}
inline bool is_shape_only(const Node& n, std::size_t i) { return i < 32 && ((n.op->shape_inputs >> i) & 1) != 0; }

}  // namespace belay::runtime
