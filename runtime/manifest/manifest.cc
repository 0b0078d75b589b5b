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

const std::vector<ScaffoldPiece>& scaffold_pieces() {
  static const std::vector<ScaffoldPiece> pieces = {{"init_op", &ScaffoldSection::init_op},
                                                    {"local_init", &ScaffoldSection::local_init},
                                                    {"ready", &ScaffoldSection::ready},
                                                    {"ready_for_local_init", &ScaffoldSection::ready_for_local_init},
                                                    {"summary_op", &ScaffoldSection::summary_op}};
  return pieces;
}

std::vector<std::string> scaffold_keys() {
  std::vector<std::string> keys{"saver", "init_fn"};
  for (const ScaffoldPiece& piece : scaffold_pieces()) keys.emplace_back(piece.key);
  return keys;
}

}  // namespace belay::runtime
