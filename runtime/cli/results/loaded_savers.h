// SPDX-License-Identifier: Apache-2.0
// Saver plugins for commands that have no run: each is searched and loaded when it is first asked for, and nothing
// else is started.
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

  // Valid as long as this. LoadError if there is none or it was refused; what its `create` fails with.
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
