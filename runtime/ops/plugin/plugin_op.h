// SPDX-License-Identifier: Apache-2.0
// A plugin's operation for graphs and plans.
//
//   add_plugin_op(*registry, instances.create(registered, use, services, monitor));
//
// After this call, graphs of that registry have it. One plugin instance serves all nodes. Each specialised plan makes a
// separate kernel of the plugin. Results of the plugin are checked: it may declare any dtypes and shapes, but a node's
// outputs must then have them. The instance must outlive the registry's graphs and their sessions.
#pragma once

#include <string>
#include <string_view>

#include "belay/abi.h"
#include "runtime/graph/op_def.h"
#include "runtime/loader/instance/instance.h"

namespace belay::runtime {

// "leaky_swish" becomes "LeakySwish", "acme.swish" becomes "AcmeSwish".
std::string operation_name(std::string_view plugin);

// ALREADY_EXISTS names both: the registry has an operation of that name. INVALID_ARGUMENT: no operation can have the
// plugin's traits or attributes. [main]
void add_plugin_op(OpRegistry& registry, PluginInstance& instance);

// Returns the table of the service "op".
const belay_op_service* op_service() noexcept;

}  // namespace belay::runtime
