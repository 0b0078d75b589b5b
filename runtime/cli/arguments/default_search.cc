// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/arguments/default_search.h"

#include "belay/runtime/environment.h"

namespace belay::runtime {

PluginSearch search_behind(const std::vector<std::string>& manifest_path) {
  FilePolicy policy;
  return PluginSearch(plugin_search_path(manifest_path, process_environment()), policy, CpuFeatures());
}

PluginSearch default_search() { return search_behind({}); }

}  // namespace belay::runtime
