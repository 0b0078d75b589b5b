// SPDX-License-Identifier: Apache-2.0
// An operation that a plugin offers, as its definition (OpDef::plugin) holds it. runtime/ops/plugin/plugin_op.h makes
// one of a plugin's instance.
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
  // The plugin's instance, as messages name it.
  virtual const std::string& label() const noexcept = 0;
  // The shape rule, the gradient and the kernel of the definition. What the plugin returns is checked; errors name the
  // node and the plugin.
  virtual void infer(InferContext& context) const = 0;
  virtual void gradient(GradContext& context) const = 0;
  virtual std::unique_ptr<Kernel> kernel(const KernelSpec& spec) const = 0;
  // What infer returns for concrete inputs must be of the kind that it returned when the node was added.
  virtual void check_outputs(const Node& node, const std::vector<std::pair<DType, Shape>>& outputs) const = 0;
};

}  // namespace belay::runtime
