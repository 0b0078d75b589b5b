// SPDX-License-Identifier: Apache-2.0
// An operation that a plugin offers, as the graph and the plans know operations.
//
//   add_plugin_op(*registry, instances.create(registered, use, services, monitor));
//
// From then on graphs of that registry have it. One plugin instance serves all nodes; a kernel of the plugin's is made
// wherever a plan is specialised. What the plugin returns is checked: it declares any dtypes and shapes, but a node's
// outputs must then have them. The instance must outlive the registry's graphs and their sessions.
#pragma once

#include <string>
#include <string_view>

#include "belay/abi.h"
#include "runtime/graph/op_def.h"
#include "runtime/loader/instance.h"

namespace belay::runtime {

// "leaky_swish": "LeakySwish"; "acme.swish": "AcmeSwish".
std::string operation_name(std::string_view plugin);

// ALREADY_EXISTS, naming both, where the registry has an operation of that name; INVALID_ARGUMENT where the plugin's
// traits or attributes are none that an operation can have. [main]
void add_plugin_op(OpRegistry& registry, PluginInstance& instance);

// The table of the service "op".
const belay_op_service* op_service() noexcept;

}  // namespace belay::runtime
