// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

PluginUse plugin_use(const std::string& plugin, const std::vector<std::pair<std::string, OptionValue>>& options,
                     const std::string& from) {
  PluginUse use;
  use.plugin = plugin;
  use.at = use.plugin_at = {from, 0, 0};
  for (const auto& [key, value] : options) use.options.push_back({key, value, use.at, use.at});
  return use;
}

Location Manifest::at(const std::string& key) const {
  for (std::string name = key;;) {
    if (const auto place = places.find(name); place != places.end()) return place->second;
    const std::size_t dot = name.rfind('.');
    if (dot == name.npos) return {file, 0, 0};
    name.resize(dot);
  }
}

}  // namespace belay::runtime
