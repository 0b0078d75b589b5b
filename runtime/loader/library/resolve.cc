// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/library/resolve.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Returns `hook "a", saver "b"`.
std::string listed(const std::vector<PluginInfo>& plugins) {
  std::vector<std::string> names;
  for (const PluginInfo& p : plugins) names.push_back(std::string(kind_name(p.kind)) + " \"" + p.name + "\"");
  return joined(names);
}

}  // namespace

PluginResolver::PluginResolver(const Registry& linked, const PluginSearch& search, FilePolicy& policy,
                               const CpuFeatures& cpu, PathContext paths, Diagnostics& problems)
    : linked_(linked), search_(search), policy_(policy), cpu_(cpu), paths_(std::move(paths)), problems_(problems) {}

ResolvedPlugins PluginResolver::resolve(const Manifest& manifest, const TrainedOptions* trained) {
  ResolvedPlugins all;
  std::vector<ResolvedPlugin*> inputs, init_fns, hooks, exporters;
  for (const auto& [section, use] : manifest.inputs) {
    auto input = resolve_input(section, use, manifest, trained);
    if (!input) continue;
    if (input->instance_name.empty()) input->instance_name = section;
    inputs.push_back(&all.inputs.emplace(section, std::move(*input)).first->second);
  }
  if (manifest.model) all.model = resolve(PluginKind::kModel, *manifest.model);
  if (manifest.scaffold.saver) all.saver = resolve(PluginKind::kSaver, *manifest.scaffold.saver);
  for (const PluginUse& use : manifest.scaffold.init_fn)
    if (auto init_fn = resolve(PluginKind::kInitFn, use)) all.init_fns.push_back(std::move(*init_fn));
  for (const PluginUse& use : manifest.hooks)
    if (auto hook = resolve(PluginKind::kHook, use)) all.hooks.push_back(std::move(*hook));
  for (const PluginUse& use : manifest.exporters)
    if (auto exporter = resolve(PluginKind::kExporter, use)) all.exporters.push_back(std::move(*exporter));
  for (const PluginUse& use : manifest.ops)
    if (auto op = resolve_op(use)) all.ops.push_back(std::move(*op));
  if (manifest.cluster) all.cluster = resolve(PluginKind::kCluster, *manifest.cluster);
  for (ResolvedPlugin& p : all.init_fns) init_fns.push_back(&p);
  for (ResolvedPlugin& p : all.hooks) hooks.push_back(&p);
  for (ResolvedPlugin& p : all.exporters) exporters.push_back(&p);
  name_instances(inputs);
  if (all.model) name_instances({&*all.model});
  if (all.saver) name_instances({&*all.saver});
  if (all.cluster) name_instances({&*all.cluster});
  name_instances(init_fns);
  name_instances(hooks);
  name_instances(exporters);
  return all;
}

namespace {

PluginsByPlace::Place place_of(const Location& at) { return {at.line, at.column, at.file}; }

}  // namespace

PluginsByPlace::PluginsByPlace(const std::vector<ResolvedPlugin>& plugins) {
  for (const ResolvedPlugin& p : plugins) plugins_.emplace(place_of(p.at), &p);
}

const ResolvedPlugin* PluginsByPlace::find(const PluginUse& use) const {
  const auto at = plugins_.find(place_of(use.at));
  return at == plugins_.end() ? nullptr : at->second;
}

void PluginResolver::resolve_optimizer(const Manifest& manifest, ResolvedPlugins& all) {
  const std::size_t problems = problems_.size();
  all.optimizer = resolve(PluginKind::kOptimizer, optimizer_use(manifest));
  if (problems_.size() == problems) resolve_optimizer_groups(manifest, all);
  if (const auto use = schedule_use(manifest)) all.schedule = resolve(PluginKind::kSchedule, *use);
  for (std::optional<ResolvedPlugin>* p : {&all.optimizer, &all.schedule})
    if (*p) name_instances({&**p});
}

void PluginResolver::resolve_optimizer_groups(const Manifest& manifest, ResolvedPlugins& all) {
  for (std::size_t i = 0; i < manifest.optimizer.groups.size(); ++i) {
    std::optional<ResolvedPlugin>& group = all.optimizer_groups.emplace_back();
    if (manifest.optimizer.groups[i].frozen()) continue;
    group = resolve(PluginKind::kOptimizer, optimizer_use(manifest, i));
    if (group) group->instance_name = fmt::format("{}.groups.{}", group->info.name, i);
  }
}

namespace {

// Reports it once, and not for each plugin of the run.
void say_that_there_are_none(const PluginSearch& search, const Location& at, Diagnostics& problems) {
  const std::string none = "there are no plugins in " + search.searched();
  if (problems.text().find(none) != std::string::npos) return;
  problems.add(at, "[B2036] " + none,
               "install Belay's, or set BELAY_PLUGIN_PATH or [plugins] path to the folder that has them; `belay "
               "plugins` lists what is found");
}

}  // namespace

namespace {

// For a key below a table it is the table's: "features" for "features.x.dtype".
std::string top_key(const std::string& key) { return key.substr(0, key.find('.')); }

bool is_learned(const PluginInfo& info, const std::string& key) {
  const OptionInfo* option = info.option(top_key(key));
  return option != nullptr && option->learned;
}

std::vector<PluginOption> learned_of(const PluginInfo& info, const std::vector<PluginOption>& options) {
  std::vector<PluginOption> learned;
  for (const PluginOption& o : options)
    if (is_learned(info, o.key)) learned.push_back(o);
  return learned;
}

// Returns all options below a top key.
std::vector<PluginOption> below(const std::string& key, const std::vector<PluginOption>& options) {
  std::vector<PluginOption> found;
  for (const PluginOption& o : options)
    if (top_key(o.key) == key) found.push_back(o);
  std::sort(found.begin(), found.end(), [](const PluginOption& a, const PluginOption& b) { return a.key < b.key; });
  return found;
}

bool is_number(const OptionValue& value, double& number) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) return number = static_cast<double>(*i), true;
  if (const auto* d = std::get_if<double>(&value)) return number = *d, true;
  return false;
}

bool same_value(const OptionValue& a, const OptionValue& b) {
  double x = 0, y = 0;
  return a == b || (is_number(a, x) && is_number(b, y) && x == y);
}

// True if they mean the same. An unset option has its default.
bool same_options(const PluginInfo& info, const std::string& key, const std::vector<PluginOption>& a,
                  const std::vector<PluginOption>& b) {
  const OptionInfo* option = info.option(key);
  if (a.empty() || b.empty()) {
    const std::vector<PluginOption>& set = a.empty() ? b : a;
    return set.empty() || (set.size() == 1 && set[0].key == key && option->default_value &&
                           same_value(set[0].value, *option->default_value));
  }
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const PluginOption& x, const PluginOption& y) {
    return x.key == y.key && same_value(x.value, y.value);
  });
}

}  // namespace

namespace {

// True if all names, such as those of columns and classes, are also the training's. They are matched in any order.
bool are_names_of(const std::vector<PluginOption>& here, const std::vector<PluginOption>& there) {
  if (here.size() != 1 || there.size() != 1) return false;
  const auto* names = std::get_if<std::vector<std::string>>(&here[0].value);
  const auto* trained = std::get_if<std::vector<std::string>>(&there[0].value);
  return names != nullptr && trained != nullptr && std::all_of(names->begin(), names->end(), [&](const auto& name) {
           return std::find(trained->begin(), trained->end(), name) != trained->end();
         });
}

// Options that decide the content of batches are the training's, unless `use` sets them. The training's input has them
// as set. Notes in `input` which of them differ from the training's value.
PluginUse with_learned(const PluginUse& use, const std::vector<PluginOption>& trained, bool inherits,
                       ResolvedPlugin& input) {
  PluginUse full = use;
  std::set<std::string> keys;
  for (const std::vector<PluginOption>* options : {&trained, &use.options})
    for (const PluginOption& o : *options)
      if (is_learned(input.info, o.key)) keys.insert(top_key(o.key));
  for (const std::string& key : keys) {
    const std::vector<PluginOption> here = below(key, use.options), there = below(key, trained);
    if (here.empty() && inherits)
      input.inherited.insert(input.inherited.end(), there.begin(), there.end());
    else if (!same_options(input.info, key, here, there) && !are_names_of(here, there))
      input.other_than_training.insert(key);
  }
  full.options.insert(full.options.end(), input.inherited.begin(), input.inherited.end());
  return full;
}

}  // namespace

std::optional<ResolvedPlugin> PluginResolver::resolve_input(const std::string& section, const PluginUse& use,
                                                            const Manifest& manifest, const TrainedOptions* trained) {
  auto input = locate(PluginKind::kInput, use);
  if (!input) return std::nullopt;
  PluginUse full = use;
  const auto training = manifest.inputs.find("train");
  const bool is_training = section == "train", same_plugin = trained != nullptr && trained->plugin == input->info.name;
  const bool starts = trained != nullptr && trained->of_start;
  if (same_plugin && (!starts || is_training)) {
    full = with_learned(use, trained->options, starts || !is_training, *input);
  } else if ((trained == nullptr || starts) && !is_training && training != manifest.inputs.end() &&
             training->second.plugin == use.plugin && training->second.file == use.file) {
    ResolvedPlugin of_training;
    of_training.info = input->info;
    const PluginUse whole = starts && same_plugin ? with_learned(training->second, trained->options, true, of_training)
                                                  : PluginUse(training->second);
    full = with_learned(use, learned_of(input->info, whole.options), true, *input);
  }
  input->options = check_options(input->info, full, paths_, problems_);
  input->learned_options = learned_of(input->info, full.options);
  input->instance_name = use.name;
  input->on_error = use.on_error;
  return input;
}

// An operation has attributes, which its nodes set. The manifest has nothing to set.
std::optional<ResolvedPlugin> PluginResolver::resolve_op(const PluginUse& use) {
  const auto refuse = [&](const Location& at, const std::string& key) {
    problems_.add(at, fmt::format("[B2037] \"{}\" cannot be set for an operation", key),
                  "[[ops]] has plugin and file; a model gives the attributes when it makes a node");
  };
  for (const PluginOption& option : use.options) refuse(option.key_at, option.key);
  if (!use.name.empty()) refuse(use.at, "name");
  auto op = locate(PluginKind::kOp, use);
  if (op) op->instance_name = op->info.name;
  return op;
}

std::optional<ResolvedPlugin> PluginResolver::resolve(PluginKind kind, const PluginUse& use) {
  auto plugin = locate(kind, use);
  if (!plugin) return std::nullopt;
  plugin->options = check_options(plugin->info, use, paths_, problems_);
  plugin->instance_name = use.name;
  plugin->on_error = use.on_error;
  return plugin;
}

std::optional<ResolvedPlugin> PluginResolver::locate(PluginKind kind, const PluginUse& use) {
  // The parser has reported a table with neither.
  if (use.plugin.empty() && use.file.empty()) return std::nullopt;
  ResolvedPlugin plugin;
  try {
    Place place = find(kind, use);
    plugin.info = std::move(place.info);
    plugin.file = std::move(place.file);
    plugin.stamp = place.stamp;
  } catch (const LoadError& e) {
    if (e.kind() == LoadErrorKind::kNotFound && linked_.plugins().empty() && search_.plugins().empty() &&
        search_.rejected().empty()) {
      say_that_there_are_none(search_, use.plugin_at, problems_);
    } else {
      const std::string data = data_help(kind, use, e);
      problems_.add(use.plugin_at, e.headline(), data.empty() ? e.help() : data);
    }
    plugin_failed_ = true;
    return std::nullopt;
  }
  plugin.at = use.at;
  return plugin;
}

std::string PluginResolver::data_help(PluginKind kind, const PluginUse& use, const LoadError& error) const {
  const bool no_library = error.kind() == LoadErrorKind::kNotElf || error.kind() == LoadErrorKind::kNotRegular ||
                          error.kind() == LoadErrorKind::kNotFound;
  if (kind != PluginKind::kInput || use.file.empty() || !no_library || use.file.find(".so") != std::string::npos)
    return "";
  const std::string library = "\"file\" is the library that the plugin is in; ";
  const PluginInfo* info = nullptr;
  if (const RegisteredPlugin* p = linked_.find(kind, use.plugin, "")) info = &p->info;
  for (const FoundPlugin& p : search_.plugins())
    if (info == nullptr && p.info.kind == kind && p.info.name == use.plugin) info = &p.info;
  if (info == nullptr) return library + "name it by plugin = \"...\", and the data by one of its options";
  const std::string data = data_options_text(*info);
  return data.empty() ? "" : library + data;
}

PluginResolver::Place PluginResolver::find(PluginKind kind, const PluginUse& use) {
  if (!use.file.empty()) return find_in_file(kind, use);
  if (const RegisteredPlugin* p = linked_.find(kind, use.plugin, "")) return {p->info, "", {}};
  std::vector<std::string> names;
  for (const RegisteredPlugin& p : linked_.plugins())
    if (p.info.kind == kind) names.push_back(p.info.name);
  const FoundPlugin& found = search_.find(kind, use.plugin, std::move(names));
  return {found.info, found.file, found.stamp};
}

PluginResolver::Place PluginResolver::find_in_file(PluginKind kind, const PluginUse& use) {
  const LibraryFile library = vet_library(use.file, policy_, cpu_);
  warnings_.insert(warnings_.end(), library.warnings.begin(), library.warnings.end());
  const std::string kind_text = kind_name(kind);
  std::vector<PluginInfo> fitting;
  std::vector<std::string> names;
  for (const PluginInfo& p : library.module.plugins) {
    if (p.kind != kind) continue;
    fitting.push_back(p);
    names.push_back(p.name);
    if (p.name == use.plugin) return {p, use.file, library.stamp};
  }
  for (const UnusablePlugin& p : library.module.unusable)
    if (p.name == use.plugin) throw unusable_error(use.file, p);
  const std::string offers = "it offers " + listed(library.module.plugins);
  if (library.module.plugins.empty()) throw unusable_error(use.file, library.module.unusable.front());
  if (fitting.empty()) throw LoadError(LoadErrorKind::kNotFound, use.file, "[B2026] offers no " + kind_text, offers);
  if (!use.plugin.empty())
    throw LoadError(LoadErrorKind::kNotFound, use.file,
                    fmt::format("[B2026] offers no {} \"{}\"", kind_text, use.plugin),
                    offers + did_you_mean(use.plugin, names));
  // One operation of a library brings all of them.
  if (fitting.size() > 1 && kind != PluginKind::kOp)
    throw LoadError(LoadErrorKind::kDuplicate, use.file, "[B2027] offers more than one " + kind_text,
                    fmt::format("pick one with plugin = \"{}\"; {}", names.front(), offers));
  return {fitting.front(), use.file, library.stamp};
}

void PluginResolver::name_instances(const std::vector<ResolvedPlugin*>& plugins) {
  std::set<std::string> taken;
  for (const ResolvedPlugin* p : plugins)
    // The parser reports hooks of one name.
    if (!p->instance_name.empty() && !taken.insert(p->instance_name).second && !problems_.has("B1025", p->at))
      problems_.add(
          p->at,
          fmt::format("[B2038] two plugins of the kind {} are named \"{}\"", kind_name(p->info.kind), p->instance_name),
          "give one of them another name");
  std::map<std::string_view, int> next;  // next number for a plugin of this name
  for (ResolvedPlugin* p : plugins) {
    if (!p->instance_name.empty()) continue;
    p->instance_name = p->info.name;
    int& number = next.try_emplace(p->info.name, 1).first->second;
    while (!taken.insert(p->instance_name).second) p->instance_name = fmt::format("{}_{}", p->info.name, number++);
  }
}

namespace {

// `names` are those of the kind that the program has given.
std::string help_for_linked(PluginKind kind, const std::string& name, const std::vector<std::string>& names) {
  if (const std::string near = nearest(name, names); !near.empty()) return "; did you mean \"" + near + "\"?";
  const bool by_default = kind != PluginKind::kInput && kind != PluginKind::kModel && kind != PluginKind::kOp &&
                          kind != PluginKind::kCluster;
  if (names.empty() && by_default) return ": give it belay::default_plugins()";
  return (names.empty() ? ": belay::default_plugins() has none of that kind" : "; there are: " + joined(names)) +
         "; add its belay_module to the plugins that the program gives";
}

// For a program's settings. A removed directory has no name.
PathContext paths_of_program() {
  std::error_code removed;
  const std::filesystem::path current = std::filesystem::current_path(removed);
  return {{removed ? "." : current.string()}, process_environment()};
}

}  // namespace

ResolvedPlugin resolve_linked(PluginKind kind, const PluginUse& use, const Registry& linked,
                              const TrainedOptions* trained) {
  const RegisteredPlugin* plugin = linked.find(kind, use.plugin, "");
  if (plugin == nullptr) {
    std::vector<std::string> names;
    for (const RegisteredPlugin& p : linked.plugins())
      if (p.info.kind == kind) names.push_back(p.info.name);
    fail(Code::kNotFound, fmt::format("[B2039] there is no {} \"{}\" among the session's plugins{}", kind_name(kind),
                                      use.plugin, help_for_linked(kind, use.plugin, names)));
  }
  Diagnostics problems;
  ResolvedPlugin resolved;
  resolved.info = plugin->info;
  resolved.instance_name = use.name.empty() ? use.plugin : use.name;
  PluginUse full = use;
  if (trained != nullptr && trained->plugin == plugin->info.name)
    full = with_learned(use, trained->options, true, resolved);
  resolved.options = check_options(plugin->info, full, paths_of_program(), problems);
  resolved.learned_options = learned_of(plugin->info, full.options);
  if (!problems.empty()) fail(Code::kInvalidArgument, problems.text());
  return resolved;
}

namespace {

const RegisteredPlugin& load_and_find(const ResolvedPlugin& plugin, Loader& loader, Registry& registry) {
  std::string file;
  if (!plugin.file.empty()) {
    const LoadedLibrary& library = loader.load(plugin.file, plugin.stamp);
    registry.add_loaded(library);
    file = library.path;
  }
  const RegisteredPlugin* found = registry.find(plugin.info.kind, plugin.info.name, file);
  if (found == nullptr)
    throw LoadError(LoadErrorKind::kStale, plugin.file,
                    fmt::format("no longer offers the {} \"{}\"", kind_name(plugin.info.kind), plugin.info.name),
                    "it was replaced while the program started; start it again");
  return *found;
}

}  // namespace

const RegisteredPlugin& load_plugin(const ResolvedPlugin& plugin, Loader& loader, Registry& registry) {
  try {
    return load_and_find(plugin, loader, registry);
  } catch (const LoadError& e) {
    throw e.at(plugin.at);
  }
}

}  // namespace belay::runtime
