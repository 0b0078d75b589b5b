// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/plugin_parts.h"

#include "runtime/api/log.h"
#include "runtime/cluster/ranks_service.h"
#include "runtime/loader/library/resolve.h"
#include "runtime/monitored/services/host_services.h"
#include "runtime/ops/plugin/plugin_op.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

PluginParts::PluginParts(const std::vector<const belay_module*>& plugins)
    : log_(make_log({})), services_(*log_, system_clock(), "", 0) {
  add_session_services(services_);
  services_.add("cluster", ranks_service());
  for (const belay_module* module : plugins) registry_.add_linked(module);
}

PluginInstance& PluginParts::create(PluginKind kind, const std::string& name) {
  PluginUse use;
  use.plugin = name;
  const ResolvedPlugin resolved = resolve_linked(kind, use, registry_);
  return instances_.create(*registry_.find(kind, name, ""), resolved, services_, monitor_);
}

void PluginParts::add_ops(OpRegistry& ops) {
  for (const RegisteredPlugin& plugin : registry_.plugins())
    if (plugin.info.kind == PluginKind::kOp) add_plugin_op(ops, create(PluginKind::kOp, plugin.info.name));
}

}  // namespace belay::runtime
