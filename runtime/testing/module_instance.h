// SPDX-License-Identifier: Apache-2.0
// One instance of a module's plugin for a driver: called as a run calls it, without a run.
#pragma once

#include <memory>
#include <string>

#include "belay/testing/option_values.h"
#include "runtime/loader/instance.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

class ModuleInstance {
 public:
  // Its services are "core", whose log goes to stderr, "graph", "files" and "saver". An empty `plugin` takes the only
  // one of the kind. NOT_FOUND; INVALID_ARGUMENT where there are several; what create throws. Options cross as they
  // are, unchecked.
  ModuleInstance(PluginKind kind, const belay_module& module, const std::string& plugin,
                 const belay::testing::OptionValues& options);
  PluginInstance& operator*() const noexcept { return *instance_; }

 private:
  const std::unique_ptr<Logger> log_;
  HostServices services_;
  Registry plugins_;
  CallMonitor monitor_;
  PluginInstances instances_;
  PluginInstance* instance_ = nullptr;
};

}  // namespace belay::runtime
