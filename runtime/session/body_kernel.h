// SPDX-License-Identifier: Apache-2.0
// Bodies of cond and while as kernels. Each has a separate plan and program, made for the shapes of its inputs.
#pragma once

#include "runtime/graph/body.h"

namespace belay::runtime {

class GraphBodies final : public BodyMaker {
 public:
  // The graph must outlive the kernels that it makes.
  explicit GraphBodies(const NodeGraph& graph) noexcept : graph_(graph) {}
  const NodeGraph& graph() const noexcept override { return graph_; }
  std::unique_ptr<Kernel> make(const GraphBody& body, const std::vector<TensorSpec>& inputs,
                               const KernelSpec& node) const override;

 private:
  const NodeGraph& graph_;
};

}  // namespace belay::runtime
