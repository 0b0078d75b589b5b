// SPDX-License-Identifier: Apache-2.0
// Implements LinkedOptimizer of optimizer.h.
#include <utility>

#include "runtime/graph/graph_service.h"
#include "runtime/optimizer/optimizer.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

// Instances refer to the members before them.
struct LinkedOptimizer::Parts {
  Parts(const OptimizerSettings& settings, const std::vector<const belay_module*>& plugins)
      : log(make_stderr_logger(LogFormat::kText, LogLevel::kInfo, system_clock())),
        services(*log, system_clock(), "", 0) {
    services.add("graph", graph_service());
    for (const belay_module* module : plugins) registry.add_linked(module);
    optimizer = &create(PluginKind::kOptimizer, optimizer_use(settings));
    if (const auto use = schedule_use(settings.learning_rate)) schedule = &create(PluginKind::kSchedule, *use);
    for (const VariableGroup& group : settings.groups)
      groups.push_back(group.frozen() ? nullptr : &create(PluginKind::kOptimizer, optimizer_use(settings, group)));
  }
  PluginInstance& create(PluginKind kind, const PluginUse& use) {
    const ResolvedPlugin resolved = resolve_linked(kind, use, registry);
    return instances.create(*registry.find(kind, use.plugin, ""), resolved, services, monitor);
  }

  std::unique_ptr<Logger> log;
  HostServices services;
  Registry registry;
  CallMonitor monitor;
  PluginInstances instances;
  PluginInstance* optimizer = nullptr;
  PluginInstance* schedule = nullptr;
  std::vector<PluginInstance*> groups;
};

LinkedOptimizer::LinkedOptimizer(OptimizerSettings settings, const std::vector<const belay_module*>& plugins)
    : settings_(std::move(settings)), parts_(std::make_unique<Parts>(settings_, plugins)) {}

LinkedOptimizer::~LinkedOptimizer() = default;

OptimizerUse LinkedOptimizer::use() const { return {settings_, *parts_->optimizer, parts_->schedule, parts_->groups}; }

}  // namespace belay::runtime
