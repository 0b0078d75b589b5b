// SPDX-License-Identifier: Apache-2.0
// An instance of a module's plugin for a driver. It is called like in a run, but without a run.
#pragma once

#include <memory>
#include <string>

#include "belay/testing/option_values.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

class ModuleInstance {
 public:
  // Its services are "core", whose log goes to stderr, "graph", "files" and "saver". An empty `plugin` takes the only
  // one of the kind. NOT_FOUND: there is none. INVALID_ARGUMENT: there are several. Also throws the error of create.
  // Options are passed unchecked.
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
