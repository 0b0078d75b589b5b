// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/program/complete_settings.h"

#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "runtime/manifest/parse.h"

namespace belay::runtime {
namespace {

using Words = std::vector<std::string>;

// A key and its possible words; none: any value.
struct Setting {
  std::string key;
  Words values;
};

// A table of the manifest that names a plugin.
struct PluginsTable {
  std::string name;  // "input.train", "hooks.0"
  PluginKind kind;
  const char* key;     // that names the plugin
  std::string plugin;  // empty: none is named yet
  Words reserved;      // keys that are the host's
};

// Reads the manifests before the word, with the changes of --set. Mistakes do not matter here.
std::optional<Manifest> manifest_of(const Words& words) {
  Words files, sets;
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::error_code none;
    if (words[i - 1] == "--set")
      sets.push_back(words[i]);
    else if (words[i].ends_with(".toml") && std::filesystem::is_regular_file(words[i], none))
      files.push_back(words[i]);
  }
  Diagnostics ignored;
  if (files.empty()) return std::nullopt;
  return parse_manifests(files, sets, process_environment(), ignored);
}

// Returns the tables that every manifest may have, and those of this one.
std::vector<PluginsTable> plugins_tables(const Manifest& manifest) {
  std::vector<PluginsTable> all;
  const auto add = [&](const std::string& name, PluginKind kind, PluginTable table, const PluginUse* use) {
    Words keys = reserved_keys(table);
    std::erase(keys, "plugin");
    if (kind != PluginKind::kHook && kind != PluginKind::kExporter) std::erase(keys, "on_error");
    all.push_back({name, kind, "plugin", use == nullptr ? "" : use->plugin, std::move(keys)});
  };
  const auto add_list = [&](const std::string& name, PluginKind kind, PluginTable table, const auto& uses) {
    for (std::size_t i = 0; i < uses.size(); ++i) add(fmt::format("{}.{}", name, i), kind, table, &uses[i]);
  };
  auto inputs = manifest.inputs;
  for (const char* name : {"train", "eval", "predict"}) inputs.try_emplace(name);
  for (const auto& [name, input] : inputs) add("input." + name, PluginKind::kInput, PluginTable::kInput, &input);
  add("model", PluginKind::kModel, PluginTable::kModel, manifest.model ? &*manifest.model : nullptr);
  const std::optional<PluginUse>& saver = manifest.scaffold.saver;
  add("scaffold.saver", PluginKind::kSaver, PluginTable::kSaver, saver ? &*saver : nullptr);
  add("cluster", PluginKind::kCluster, PluginTable::kCluster, manifest.cluster ? &*manifest.cluster : nullptr);
  add_list("scaffold.init_fn", PluginKind::kInitFn, PluginTable::kInitFn, manifest.scaffold.init_fn);
  add_list("hooks", PluginKind::kHook, PluginTable::kHook, manifest.hooks);
  add_list("exporters", PluginKind::kExporter, PluginTable::kExporter, manifest.exporters);
  // The sections have the other keys of these.
  all.push_back({"optimizer", PluginKind::kOptimizer, "name", optimizer_use(manifest.optimizer).plugin, {}});
  all.push_back(
      {"optimizer.learning_rate", PluginKind::kSchedule, "schedule", manifest.optimizer.learning_rate.schedule, {}});
  return all;
}

Words words_of(const OptionInfo& option) {
  if (option.list) return {};
  return option.type == OptionType::kBool ? Words{"true", "false"} : option.choices;
}

std::vector<Setting> settings_of(const PluginsTable& table, const PluginSearch& search) {
  Setting name{table.name + "." + table.key, {}};
  std::vector<Setting> all;
  for (const std::string& key : table.reserved) all.push_back({table.name + "." + key, {}});
  for (const FoundPlugin& p : search.plugins()) {
    if (p.info.kind != table.kind) continue;
    name.values.push_back(p.info.name);
    if (p.info.name != table.plugin || !p.shadowed_by.empty() || !p.conflicts_with.empty()) continue;
    for (const OptionInfo& option : p.info.options) all.push_back({table.name + "." + option.name, words_of(option)});
  }
  all.push_back(std::move(name));
  return all;
}

}  // namespace

std::vector<std::string> settings_to_offer(const std::vector<std::string>& words, const std::string& word,
                                           const std::function<PluginSearch()>& search) {
  std::vector<Setting> settings;
  for (const SectionKeys& section : manifest_keys()) {
    if (section.section.empty() || section.section == "metrics" || section.section == "optimizer.groups") continue;
    for (const std::string& key : section.keys) {
      const auto choices = section.choices.find(key);
      settings.push_back({section.section + "." + key, choices == section.choices.end() ? Words() : choices->second});
    }
  }
  const PluginSearch found = search();
  for (const PluginsTable& table : plugins_tables(manifest_of(words).value_or(Manifest())))
    for (Setting& setting : settings_of(table, found)) settings.push_back(std::move(setting));
  Words offered;
  const std::size_t equals = word.find('=');
  for (const Setting& setting : settings) {
    if (equals == word.npos) offered.push_back(setting.key + "=");
    if (setting.key != word.substr(0, equals)) continue;
    for (const std::string& value : setting.values) offered.push_back(setting.key + "=" + value);
  }
  return offered;
}

}  // namespace belay::runtime
