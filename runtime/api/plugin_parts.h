// SPDX-License-Identifier: Apache-2.0
// Instances of linked plugins that belong to no run: the operations of a graph, the saver that reads a checkpoint.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "belay/runtime/log_options.h"
#include "runtime/graph/op_def.h"
#include "runtime/loader/instance/host.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/loader/library/registry.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

class PluginParts {
 public:
  explicit PluginParts(const std::vector<const belay_module*>& plugins);
  PluginParts(const PluginParts&) = delete;
  PluginParts& operator=(const PluginParts&) = delete;

  // NOT_FOUND if no plugin has that name.
  PluginInstance& create(PluginKind kind, const std::string& name);
  // Adds each operation of the plugins; this object outlives the registry's graphs.
  void add_ops(OpRegistry& ops);
  Logger& log() noexcept { return *log_; }

 private:
  std::unique_ptr<Logger> log_;
  HostServices services_;
  Registry registry_;
  CallMonitor monitor_;
  PluginInstances instances_;
};

}  // namespace belay::runtime
