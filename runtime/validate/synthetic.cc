// SPDX-License-Identifier: Apache-2.0
#include "runtime/validate/synthetic.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "runtime/loader/options/check_options.h"
#include "runtime/manifest/read_plugin_use.h"
#include "runtime/manifest/sets.h"

namespace belay::runtime {
namespace {

// Returns a value within the option's limits. A string is "loss", which every model has.
OptionValue make_up(const OptionInfo& option, const std::string& path) {
  double number = std::max(1.0, option.min.value_or(1));
  if (option.max) number = std::min(number, *option.max);
  const std::string text = !option.choices.empty()            ? option.choices[0]
                           : option.type == OptionType::kPath ? path
                                                              : "loss";
  switch (option.type) {
    case OptionType::kBool: return option.list ? OptionValue(std::vector<bool>{true}) : OptionValue(true);
    case OptionType::kInt: {
      const auto whole = static_cast<std::int64_t>(number);
      return option.list ? OptionValue(std::vector<std::int64_t>{whole}) : OptionValue(whole);
    }
    case OptionType::kFloat: return option.list ? OptionValue(std::vector<double>{number}) : OptionValue(number);
    case OptionType::kString:
    case OptionType::kPath: return option.list ? OptionValue(std::vector<std::string>{text}) : OptionValue(text);
    case OptionType::kTable: return OptionValue(number);
  }
  return OptionValue();
}

belay::testing::OptionValue driver_value(const belay_named_value& option) {
  using belay::testing::OptionValue;
  const std::string name(detail::view(option.name));
  const belay_value& v = option.value;
  const auto n = static_cast<std::size_t>(v.count);
  const bool list = (v.type & BELAY_VALUE_LIST) != 0;
  switch (v.type & ~BELAY_VALUE_LIST) {
    case BELAY_VALUE_BOOL: {
      const auto* data = static_cast<const std::int64_t*>(v.data);
      if (!list) return OptionValue(name, data[0] != 0);
      std::vector<bool> all;
      for (std::size_t i = 0; i < n; ++i) all.push_back(data[i] != 0);
      return OptionValue(name, all);
    }
    case BELAY_VALUE_INT: {
      const auto* data = static_cast<const std::int64_t*>(v.data);
      return list ? OptionValue(name, std::vector<std::int64_t>(data, data + n)) : OptionValue(name, data[0]);
    }
    case BELAY_VALUE_FLOAT: {
      const auto* data = static_cast<const double*>(v.data);
      return list ? OptionValue(name, std::vector<double>(data, data + n)) : OptionValue(name, data[0]);
    }
    default: {
      const auto* data = static_cast<const belay_str*>(v.data);
      std::vector<std::string> all;
      for (std::size_t i = 0; i < n; ++i) all.emplace_back(detail::view(data[i]));
      return list ? OptionValue(name, all) : OptionValue(name, all.at(0));
    }
  }
}

// A manifest's own keys never reach a plugin.
void refuse_keys_of_manifest(const std::vector<std::string>& sets, Diagnostics& problems) {
  const std::pair<const char*, const char*> kept[] = {{"plugin", "names the plugin"},
                                                      {"file", "names the plugin's library"},
                                                      {"name", "names the instance"},
                                                      {"on_error", "names what follows an error"}};
  for (const std::string& set : sets) {
    const std::string key = set.substr(0, set.find_first_of("=. "));
    for (const auto& [name, meaning] : kept)
      if (key == name)
        problems.add({"--set " + key, 0, 0}, "\"" + key + "\" is no option: in a manifest it " + meaning,
                     "leave it out; a plugin that has such an option must give it another name");
  }
}

class OptionChooser {
 public:
  OptionChooser(const PluginInfo& plugin, bool any_sets, const std::string& folder, PluginUse& use)
      : plugin_(plugin), any_sets_(any_sets), folder_(folder), use_(use) {}

  // Call it when the user's options, and the examples of tables, are in `use`.
  ChosenOptions choose() {
    for (const OptionInfo& option : plugin_.options) {
      if (is_given(option)) continue;
      if (option.example && (option.required || !any_sets_)) {
        take_example(option);
      } else if (option.required) {
        make_up_value(option);
      }
    }
    return std::move(chosen_);
  }

 private:
  bool is_given(const OptionInfo& option) const {
    const std::string below = option.name + ".";
    return std::any_of(use_.options.begin(), use_.options.end(),
                       [&](const PluginOption& o) { return o.key == option.name || o.key.starts_with(below); });
  }

  void take_example(const OptionInfo& option) {
    OptionValue value = *option.example;
    if (option.type == OptionType::kPath) {
      in_folder(value, option);
      if (option.required && !option.example_file) chosen_.synthetic.push_back(option.name);
    }
    use_.options.push_back({option.name, std::move(value), {}, {}});
    chosen_.examples.push_back(option.name);
  }
  // Creates the files of required options.
  void in_folder(OptionValue& value, const OptionInfo& option) {
    const auto place = [&](std::string& path) {
      path = folder_ + "/" + path;
      if (option.example_file || option.required) chosen_.files[path] = option.example_file.value_or(kSyntheticFile);
    };
    if (auto* path = std::get_if<std::string>(&value)) place(*path);
    if (auto* paths = std::get_if<std::vector<std::string>>(&value))
      for (std::string& path : *paths) place(path);
  }
  void make_up_value(const OptionInfo& option) {
    const std::string path = folder_ + "/synthetic_by_belay_validate";
    if (option.type == OptionType::kPath) chosen_.files[path] = kSyntheticFile;
    // A table gets one entry, with the name that every model has.
    const std::string key = option.type == OptionType::kTable ? option.name + ".loss" : option.name;
    use_.options.push_back({key, make_up(option, path), {}, {}});
    chosen_.synthetic.push_back(option.name);
  }

  static constexpr const char* kSyntheticFile = "synthetic, by belay validate\n";
  const PluginInfo& plugin_;
  const bool any_sets_;
  const std::string& folder_;
  PluginUse& use_;
  ChosenOptions chosen_;
};

bool has_table(const std::vector<std::string>& sets, const std::string& name) {
  return std::any_of(sets.begin(), sets.end(), [&](const std::string& set) {
    return set.starts_with(name) && set.find_first_of("=. ", name.size()) == name.size();
  });
}

// Returns the user's options, and tables with their examples.
std::vector<std::string> all_sets(const PluginInfo& plugin, const std::vector<std::string>& sets) {
  std::vector<std::string> all{"plugin=\"" + plugin.name + "\""};
  for (const OptionInfo& option : plugin.options)
    if (option.type == OptionType::kTable && option.example && (option.required || sets.empty()) &&
        !has_table(sets, option.name))
      all.push_back(option.name + "=" + std::get<std::string>(*option.example));
  all.insert(all.end(), sets.begin(), sets.end());
  return all;
}

void add_paths(const PluginInfo& plugin, const belay_named_value& value, std::vector<std::string>& paths) {
  const OptionInfo* option = plugin.option(detail::view(value.name));
  if (option == nullptr || option->type != OptionType::kPath) return;
  for (std::uint64_t i = 0; i < value.value.count; ++i)
    paths.emplace_back(detail::view(static_cast<const belay_str*>(value.value.data)[i]));
}

}  // namespace

ChosenOptions choose_options(const PluginInfo& plugin, const std::vector<std::string>& sets, const std::string& folder,
                             Diagnostics& problems) {
  refuse_keys_of_manifest(sets, problems);
  const Environment environment = process_environment();
  const ManifestDirectories directories{std::filesystem::current_path().string()};
  const std::vector<SectionKeys> known = manifest_keys();
  TomlNode root{{std::make_shared<const std::string>("--set")}, TomlTable{}};
  apply_sets(root, all_sets(plugin, sets), problems);
  PluginUse use = read_plugin_use(root, plugin.name, PluginTable::kHook, {directories, environment, problems, known});
  ChosenOptions chosen = OptionChooser(plugin, !sets.empty(), folder, use).choose();
  const OptionValues values = check_options(plugin, use, {directories, environment}, problems);
  for (std::uint64_t i = 0; i < values.size(); ++i) {
    chosen.values = chosen.values.with(driver_value(values.data()[i]));
    add_paths(plugin, values.data()[i], chosen.paths);
  }
  return chosen;
}

}  // namespace belay::runtime
