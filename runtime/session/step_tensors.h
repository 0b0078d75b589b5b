// SPDX-License-Identifier: Apache-2.0
// All tensors of a plan, in the order of their computation. It lists the fetches that show a whole step, and the inputs
// of each.
//
//   const std::unique_ptr<Plan> plan = make_plan(graph, key, {loss});
//   for (const StepTensor& t : tensors_of(graph, *plan)) args.fetch(graph.output(t.port));
//
// Constants, and variables before the step, come first. The results of steps and of host operations (a dequeue) follow
// stage by stage. The variables after the step come last. A second name of a value (an Identity, a Reshape, a merged
// node) is not listed again. Strings and tensors inside of bodies cannot be fetched and are left out. [any thread]
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/session/plan.h"

namespace belay::runtime {

enum class TensorOrigin : std::uint8_t {
  kConstant,  // of the graph, or computed when the plan was made
  kVariable,  // before the step
  kHost,      // from a host operation: the batch
  kComputed,  // by a step that the run makes anyway
  kBeside,    // no step keeps it: a fused one does not store it, or only a hook needs it. A fetch computes it
  kWritten,   // a variable after the step
};
const char* origin_text(TensorOrigin origin) noexcept;  // "constant", "variable", "batch", ...

struct StepTensor {
  Port port;
  std::string name;   // "hidden/MatMul:0"
  std::string alias;  // name of a batch's component in the input; else empty
  std::string ops;    // of the node, or of all nodes of a fused step: "MatMul + BiasAdd + Relu"
  TensorOrigin origin = TensorOrigin::kComputed;
  std::vector<std::size_t> inputs;  // indices in this list, for inputs in it

  const std::string& known_name() const noexcept { return alias.empty() ? name : alias; }
};

std::vector<StepTensor> tensors_of(const NodeGraph& graph, const Plan& plan);

}  // namespace belay::runtime
