// SPDX-License-Identifier: Apache-2.0
// An operation that a plugin offers, as the graph and the plans know operations.
//
//   add_plugin_op(*registry, instances.create(registered, use, services, monitor));
//
// From then on graphs of that registry have it. One plugin instance serves all nodes; a kernel of the plugin's is made
// wherever a plan is specialised. What the plugin gives is checked: it says what it likes, but a node's outputs are
// then what it said. The instance must outlive the registry's graphs and their sessions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/detail/sized.h"
#include "runtime/graph/node_graph.h"
#include "runtime/graph/op_def.h"
#include "runtime/loader/instance.h"

namespace belay::runtime {

// "leaky_swish": "LeakySwish"; "acme.swish": "AcmeSwish".
std::string operation_name(std::string_view plugin);

// ALREADY_EXISTS, naming both, where the registry has an operation of that name; INVALID_ARGUMENT where the plugin's
// traits or attributes are none that an operation can have. [main]
void add_plugin_op(OpRegistry& registry, PluginInstance& instance);

class PluginOp {
 public:
  // Asks the plugin for its traits.
  explicit PluginOp(PluginInstance& instance);

  const belay_op_traits& traits() const noexcept { return traits_; }
  PluginInstance& instance() const noexcept { return instance_; }
  bool has_gradient() const noexcept;

  void infer(InferContext& context) const;
  void gradient(GradContext& context) const;
  // What infer returns for concrete inputs must be of the kind that it returned when the node was added.
  void check_outputs(const Node& node, const std::vector<std::pair<DType, Shape>>& outputs) const;

 private:
  Port checked_gradient(const NodeGraph& graph, const belay_output& given, Port input, std::size_t i) const;

  PluginInstance& instance_;
  belay_op_traits traits_ = detail::sized<belay_op_traits>();
};

// The table of the service "op".
const belay_op_service* op_service() noexcept;

}  // namespace belay::runtime
