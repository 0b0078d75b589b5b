// SPDX-License-Identifier: Apache-2.0
#include "runtime/testing/module_ops.h"

#include <algorithm>

#include "runtime/graph/graph_service.h"
#include "runtime/ops/plugin/plugin_op.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

ModuleOps::ModuleOps() : services_(log_, system_clock(), "", 42) {
  services_.add("graph", graph_service());
  services_.add("op", op_service());
}

void ModuleOps::add(OpRegistry& registry, const belay_module& module) {
  if (std::find(known_.begin(), known_.end(), &module) != known_.end()) return;
  const std::size_t before = plugins_.plugins().size();
  plugins_.add_linked(&module);
  known_.push_back(&module);
  for (std::size_t i = before; i < plugins_.plugins().size(); ++i) {
    const RegisteredPlugin& plugin = plugins_.plugins()[i];
    if (plugin.info.kind != PluginKind::kOp) continue;
    ResolvedPlugin use;
    use.instance_name = plugin.info.name;
    add_plugin_op(registry, instances_.create(plugin, use, services_, monitor_));
  }
}

}  // namespace belay::runtime
