// SPDX-License-Identifier: Apache-2.0
// Saver plugins for commands that have no run. Each is searched and loaded at its first use, and nothing else is
// started.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "runtime/checkpoint/format/saver_tensors.h"
#include "runtime/loader/file/search.h"
#include "runtime/loader/instance/host.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/loader/library/loader.h"
#include "runtime/loader/library/registry.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

class LoadedSavers {
 public:
  // `search` is called once, when the first saver is asked for.
  LoadedSavers(std::function<PluginSearch()> search, Logger& log);

  // It is valid as long as this object. LoadError if there is none or it was refused; errors of its `create` are
  // thrown.
  const SaverUse& use(const std::string& name);

 private:
  SaverUse load(const std::string& name);

  const std::function<PluginSearch()> make_search_;
  Logger& log_;
  FilePolicy policy_;
  const CpuFeatures cpu_;
  Loader loader_;
  Registry registry_;
  std::optional<PluginSearch> search_;
  HostServices services_;
  CallMonitor monitor_;
  PluginInstances instances_;
  std::map<std::string, SaverUse> savers_;
};

}  // namespace belay::runtime
