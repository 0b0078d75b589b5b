// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/manifest.h"

#include <fmt/core.h>

namespace belay::runtime {

PluginUse plugin_use(const std::string& plugin, const std::vector<std::pair<std::string, OptionValue>>& options,
                     const std::string& from) {
  PluginUse use;
  use.plugin = plugin;
  use.at = use.plugin_at = {from, 0, 0};
  for (const auto& [key, value] : options) use.options.push_back({key, value, use.at, use.at});
  return use;
}

namespace {

PluginUse use_of_settings(const std::string& plugin, const std::string& file, const std::vector<PluginOption>& options,
                          const std::string& from) {
  PluginUse use = plugin_use(plugin, {}, from);
  use.file = file;
  use.options = options;
  for (PluginOption& option : use.options)
    for (Location* place : {&option.key_at, &option.value_at})
      if (place->file.empty()) place->file = from;
  return use;
}

}  // namespace

PluginUse optimizer_use(const OptimizerSettings& settings) {
  const std::string name = settings.name.empty() && settings.file.empty() ? "sgd" : settings.name;
  return use_of_settings(name, settings.file, settings.options, "the optimizer's options");
}

PluginUse optimizer_use(const OptimizerSettings& settings, const VariableGroup& group) {
  OptimizerSettings own = settings;
  for (const PluginOption& option : group.options) {
    std::erase_if(own.options, [&](const PluginOption& o) { return o.key == option.key; });
    own.options.push_back(option);
  }
  return optimizer_use(own);
}

std::optional<PluginUse> schedule_use(const LearningRate& rate) {
  if (!rate.is_scheduled()) return std::nullopt;
  return use_of_settings(rate.schedule, rate.file, rate.options, "the schedule's options");
}

namespace {

PluginUse at_its_place(const Manifest& manifest, const std::string& table, PluginUse use) {
  use.at = manifest.at(table);
  use.plugin_at = manifest.at(manifest.optimizer.name.empty() ? "optimizer.file" : "optimizer.name");
  return use;
}

}  // namespace

PluginUse optimizer_use(const Manifest& manifest) {
  return at_its_place(manifest, "optimizer", optimizer_use(manifest.optimizer));
}

PluginUse optimizer_use(const Manifest& manifest, std::size_t group) {
  return at_its_place(manifest, fmt::format("optimizer.groups.{}", group),
                      optimizer_use(manifest.optimizer, manifest.optimizer.groups[group]));
}

std::optional<PluginUse> schedule_use(const Manifest& manifest) {
  std::optional<PluginUse> use = schedule_use(manifest.optimizer.learning_rate);
  if (!use) return use;
  const std::string table = "optimizer.learning_rate";
  use->at = manifest.at(table);
  use->plugin_at = manifest.at(table + (use->plugin.empty() ? ".file" : ".schedule"));
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
