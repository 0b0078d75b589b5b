// SPDX-License-Identifier: Apache-2.0
// All tensors of a plan, in the order in which it computes them: what to fetch to see a whole step, and what each was
// made from.
//
//   const std::unique_ptr<Plan> plan = make_plan(graph, key, {loss});
//   for (const StepTensor& t : tensors_of(graph, *plan)) args.fetch(graph.output(t.port));
//
// Constants and variables as the step finds them come first, then stage by stage what steps compute and what host
// operations (a dequeue) return, at the end the variables as the step leaves them. A value that is another one's under
// a second name (an Identity, a Reshape, a merged node) is not listed again; strings and what is inside of bodies
// cannot be fetched, and are left out. [any thread]
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/session/plan.h"

namespace belay::runtime {

enum class TensorOrigin : std::uint8_t {
  kConstant,  // of the graph, or computed when the plan was made
  kVariable,  // as the step finds it
  kHost,      // a host operation's: the batch
  kComputed,  // by a step that the run makes whoever looks on
  kBeside,   // no step keeps it: a fused one passes over it, or only a hook asks for it; who fetches it has it computed
  kWritten,  // a variable as the step leaves it
};
const char* origin_text(TensorOrigin origin) noexcept;  // "constant", "variable", "batch", ...

struct StepTensor {
  Port port;
  std::string name;   // "hidden/MatMul:0"
  std::string alias;  // a batch's component by its name in the input; else empty
  std::string ops;    // of the node; of a fused step's output those of all its nodes: "MatMul + BiasAdd + Relu"
  TensorOrigin origin = TensorOrigin::kComputed;
  std::vector<std::size_t> inputs;  // places in this list, of those that are in it

  const std::string& known_name() const noexcept { return alias.empty() ? name : alias; }
};

std::vector<StepTensor> tensors_of(const NodeGraph& graph, const Plan& plan);

}  // namespace belay::runtime
