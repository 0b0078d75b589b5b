// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/resume/manifest_changes.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "runtime/manifest/show.h"
#include "runtime/manifest/toml_text.h"

namespace belay::runtime {
namespace {

constexpr const char* kNotSet = "not set";
constexpr const char* kThere = "there";
constexpr const char* kNotThere = "not there";

// A table of the manifest that names a plugin.
struct UsedPlugin {
  const PluginUse* use = nullptr;
  const PluginInfo* info = nullptr;  // null: it is not known
};

const PluginInfo* info_at(const PluginsByPlace& plugins, const PluginUse& use) {
  const ResolvedPlugin* plugin = plugins.find(use);
  return plugin == nullptr ? nullptr : &plugin->info;
}

// By the section's name in manifest_values.
std::map<std::string, UsedPlugin> used_plugins(const Manifest& manifest, const ResolvedPlugins& plugins) {
  std::map<std::string, UsedPlugin> used;
  for (const auto& [name, input] : manifest.inputs) {
    const auto found = plugins.inputs.find(name);
    used["input." + toml_key(name)] = {&input, found == plugins.inputs.end() ? nullptr : &found->second.info};
  }
  if (manifest.model) used["model"] = {&*manifest.model, plugins.model ? &plugins.model->info : nullptr};
  const PluginsByPlace hooks(plugins.hooks), init_fns(plugins.init_fns);
  for (const auto& [section, use] : elements_of(manifest.hooks, "hooks")) used[section] = {use, info_at(hooks, *use)};
  for (const auto& [section, use] : elements_of(manifest.scaffold.init_fn, "scaffold.init_fn"))
    used[section] = {use, info_at(init_fns, *use)};
  return used;
}

// "layers.0.units" is declared as "layers[].units".
std::string declared_name(const std::string& key) {
  std::string name;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('.', begin), key.size());
    const std::string part = key.substr(begin, end - begin);
    const bool index =
        !part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); });
    name += index ? "[]" : (name.empty() ? "" : ".") + part;
    begin = end + 1;
  }
  return name;
}

// Null: the key is not of an option that the plugin declares.
const OptionInfo* option_of(const UsedPlugin& used, const std::string& key) {
  if (used.info == nullptr) return nullptr;
  const std::string name = declared_name(key);
  for (const OptionInfo& nested : used.info->nested)
    if (nested.name == name) return &nested;
  return used.info->option(key.substr(0, key.find('.')));
}

bool is_reserved(const std::string& key) {
  return key == "plugin" || key == "file" || key == "name" || key == "on_error" || key == "prefetch";
}

class Comparison {
 public:
  Comparison(const Manifest& before, const Manifest& now, const ResolvedPlugins& plugins, const HookInfos& hooks)
      : now_(now), used_(used_plugins(now, plugins)) {
    for (const auto& [section, use] : elements_of(before.hooks, "hooks"))
      used_.try_emplace(section, UsedPlugin{nullptr, hooks(use->plugin)});
    for (const ManifestValue& v : manifest_values(before)) was_[v.section][v.key] = v.value;
    for (const ManifestValue& v : manifest_values(now)) is_[v.section][v.key] = v.value;
  }

  std::vector<ManifestChange> changes() {
    std::set<std::string> sections;
    for (const auto& [section, keys] : was_) sections.insert(section);
    for (const auto& [section, keys] : is_) sections.insert(section);
    for (const std::string& section : sections) compare(section);
    return std::move(changes_);
  }

 private:
  using Keys = std::map<std::string, std::string>;

  void compare(const std::string& section) {
    const auto was = was_.find(section), is = is_.find(section);
    if (is_element(section) && (was == was_.end() || is == is_.end())) return came_or_went(section, is == is_.end());
    static const Keys none;
    const Keys& before = was == was_.end() ? none : was->second;
    const Keys& now = is == is_.end() ? none : is->second;
    std::set<std::string> keys;
    for (const auto& [key, value] : before) keys.insert(key);
    for (const auto& [key, value] : now) keys.insert(key);
    for (const std::string& key : keys) {
      std::string a = value_of(section, key, before), b = value_of(section, key, now);
      if (a != b) changes_.push_back({section + "." + key, a, b, counts(section, key), place(section, key)});
    }
  }

  void came_or_went(const std::string& section, bool went) {
    const UsedPlugin used = plugin_of(section);
    const bool counts = section.starts_with("hooks.") && (used.info == nullptr || !only_watches(*used.info));
    changes_.push_back({section, went ? kThere : kNotThere, went ? kNotThere : kThere, counts, place(section, "")});
  }

  UsedPlugin plugin_of(const std::string& section) const {
    const auto found = used_.find(section);
    return found == used_.end() ? UsedPlugin{} : found->second;
  }

  // Elements of lists of tables.
  static bool is_element(const std::string& section) {
    return section.starts_with("hooks.") || section.starts_with("metrics.") || section.starts_with("ops.") ||
           section.starts_with("exporters.") || section.starts_with("scaffold.init_fn.");
  }

  // Returns the value, or the plugin's default if it is not written.
  std::string value_of(const std::string& section, const std::string& key, const Keys& keys) const {
    const UsedPlugin used = plugin_of(section);
    const OptionInfo* option = is_reserved(key) ? nullptr : option_of(used, key);
    const auto found = keys.find(key);
    if (found == keys.end())
      return option != nullptr && option->name == key && option->default_value ? toml_value(*option->default_value)
                                                                               : kNotSet;
    // 1 equals 1.0 for a float option.
    if (option != nullptr && option->type == OptionType::kFloat && !option->list &&
        found->second.find_first_not_of("+-0123456789") == std::string::npos)
      return toml_number(std::stod(found->second));
    return found->second;
  }

  bool counts(const std::string& section, const std::string& key) const {
    if (section == "run") return key == "seed";
    if (section == "session") return key == "precision";
    if (section == "optimizer") return true;
    if (section == "cluster") return key == "wire" || key == "bucket_mib";
    const bool plugin = section == "model" || section == "input.train" || section.starts_with("hooks.");
    if (!plugin || key == "name" || key == "on_error" || key == "prefetch") return false;
    if (is_reserved(key)) return true;
    const OptionInfo* option = option_of(plugin_of(section), key);
    return option == nullptr || !option->watching;
  }

  Location place(const std::string& section, const std::string& key) const {
    const UsedPlugin used = plugin_of(section);
    if (used.use == nullptr) return now_.at(key.empty() ? section : section + "." + key);
    if (key == "plugin" || key == "file") return used.use->plugin_at;
    for (const PluginOption& option : used.use->options)
      if (option.key == key) return option.value_at;
    return used.use->at;
  }

  const Manifest& now_;
  std::map<std::string, UsedPlugin> used_;
  std::map<std::string, Keys> was_, is_;
  std::vector<ManifestChange> changes_;
};

}  // namespace

bool only_watches(const PluginInfo& hook) {
  return std::all_of(hook.options.begin(), hook.options.end(), [](const OptionInfo& o) { return o.watching; });
}

std::vector<ManifestChange> changes_between(const Manifest& before, const Manifest& now, const ResolvedPlugins& plugins,
                                            const HookInfos& hooks) {
  return Comparison(before, now, plugins, hooks).changes();
}

std::string change_text(const ManifestChange& change) {
  return change.key + " was " + change.was + ", is " + change.is;
}

}  // namespace belay::runtime
