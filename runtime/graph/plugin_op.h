// SPDX-License-Identifier: Apache-2.0
// A plugin's operation in its definition (OpDef::plugin). runtime/ops/plugin/plugin_op.h makes one from a plugin's
// instance.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/op_def.h"

namespace belay::runtime {

class PluginOp {
 public:
  virtual ~PluginOp() = default;
  // The name of the plugin's instance in messages.
  virtual const std::string& label() const noexcept = 0;
  // The shape rule, the gradient and the kernel of the definition. They check the plugin's results. Errors name the
  // node and the plugin.
  virtual void infer(InferContext& context) const = 0;
  virtual void gradient(GradContext& context) const = 0;
  virtual std::unique_ptr<Kernel> kernel(const KernelSpec& spec) const = 0;
  // Checks that infer's outputs for concrete inputs fit those for the node when it was added.
  virtual void check_outputs(const Node& node, const std::vector<std::pair<DType, Shape>>& outputs) const = 0;
};

}  // namespace belay::runtime
