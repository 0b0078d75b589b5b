// SPDX-License-Identifier: Apache-2.0
// Adds the operations of plugin modules to the drivers' registries.
#pragma once

#include "runtime/graph/op_def.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

// Owns the instances of the operations. It must outlive the graphs of the registry.
class ModuleOps {
 public:
  ModuleOps();
  // Adds every operation of the module to the registry. A module that was added before is skipped. Errors are those of
  // add_plugin_op, or LoadError.
  void add(OpRegistry& registry, const belay_module& module);

 private:
  // Hides the log of operations.
  class NoLog final : public Logger {
   public:
    void log(LogLevel, std::string_view, std::string_view) override {}
    bool enabled(LogLevel) const override { return false; }
    bool interactive() const override { return false; }
    void status_line(std::string_view) override {}
    void set_step(std::int64_t) override {}
    void flush() override {}
  };

  NoLog log_;
  HostServices services_;
  Registry plugins_;
  CallMonitor monitor_;
  PluginInstances instances_;
  std::vector<const belay_module*> known_;
};

}  // namespace belay::runtime
