// SPDX-License-Identifier: Apache-2.0
// Service "model": the functions that a model's build calls with its belay_model_spec.
#pragma once

#include <cstdint>
#include <vector>

#include "belay/abi.h"
#include "runtime/graph/node_graph.h"
#include "runtime/monitored/model/model_outputs.h"

namespace belay::runtime {

// The target of belay_model_spec while build runs.
struct ModelSpec {
  NodeGraph& graph;
  ModelOutputs outputs = {};
};

// Adds a signature to those of the graph with this serial number. INVALID_ARGUMENT names it and its wrong input or
// output.
void add_signature(std::vector<Signature>& to, std::uint64_t graph, Signature signature);

const belay_model_service* model_service() noexcept;

inline belay_model_spec* to_handle(ModelSpec* spec) noexcept { return reinterpret_cast<belay_model_spec*>(spec); }
inline ModelSpec& from_handle(belay_model_spec* spec) noexcept { return *reinterpret_cast<ModelSpec*>(spec); }

}  // namespace belay::runtime
