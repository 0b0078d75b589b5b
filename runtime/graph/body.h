// SPDX-License-Identifier: Apache-2.0
// Lets kernels of operations with bodies run these. The session implements it: a body has a separate plan.
#pragma once

#include <memory>
#include <vector>

#include "runtime/graph/kernel.h"

namespace belay::runtime {

class BodyMaker {
 public:
  virtual ~BodyMaker() = default;
  virtual const NodeGraph& graph() const noexcept = 0;
  // Makes a kernel that computes the body's outputs from its arguments and captures, in this order. It takes threads
  // and seed from the node that runs the body.
  virtual std::unique_ptr<Kernel> make(const GraphBody& body, const std::vector<TensorSpec>& inputs,
                                       const KernelSpec& node) const = 0;
};

}  // namespace belay::runtime
