// SPDX-License-Identifier: Apache-2.0
// From the plugins that a manifest names to the files they are in and the options they get, without running their code.
//
//   PluginResolver resolver(registry, search, policy, cpu, {manifest.directories, environment}, problems);
//   const ResolvedPlugins plugins = resolver.resolve(manifest);
//   if (!problems.empty()) ...                                      all of them, at once
//   const RegisteredPlugin& model = load_plugin(*plugins.model, loader, registry);
//
// A name is looked for among the linked-in plugins first, then in the search path; `file` is that one file: its only
// plugin of the kind, or the one that `plugin` names. [main]
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtime/loader/check_options.h"
#include "runtime/loader/registry.h"
#include "runtime/loader/search.h"

namespace belay::runtime {

struct ResolvedPlugin {
  PluginInfo info;
  std::string file;                // empty: linked in
  std::optional<FileStamp> stamp;  // of the file when its note was read
  // The manifest's `name`; else of an input its section ("train"), of the others the plugin's name, then name_1,
  // name_2. Unique among the plugins of a kind.
  std::string instance_name;
  OptionValues options;
  OnHookError on_error = OnHookError::kStop;
  Location at;  // of the table in the manifest
  // Of an input: options that decide what its batches hold (OptionInfo::learned), as the training of the model has
  // them.
  std::vector<PluginOption> learned_options = {};  // those that are set here, or inherited
  std::set<std::string> other_than_training = {};  // those that are set otherwise here
  std::vector<PluginOption> inherited = {};        // those that are not set here, and that training set
};

struct ResolvedPlugins {
  std::map<std::string, ResolvedPlugin> inputs;  // by section
  std::optional<ResolvedPlugin> model;
  std::optional<ResolvedPlugin> saver;
  std::vector<ResolvedPlugin> init_fns;
  std::vector<ResolvedPlugin> hooks;  // in calling order
  std::vector<ResolvedPlugin> exporters;
  std::optional<ResolvedPlugin> cluster;
  std::optional<ResolvedPlugin> optimizer;  // of a training
  std::optional<ResolvedPlugin> schedule;   // none: the learning rate is a number
  // The optimizer once more for each of [optimizer]'s groups, with that one's options; none for a frozen one.
  std::vector<std::optional<ResolvedPlugin>> optimizer_groups;
  // Named in [[ops]]. The other operations of every library that is used come with it.
  std::vector<ResolvedPlugin> ops;
};

// Plugins, borrowed, by the tables in which the manifest names them.
class PluginsByPlace {
 public:
  using Place = std::tuple<int, int, std::string_view>;

  explicit PluginsByPlace(const std::vector<ResolvedPlugin>& plugins);
  // The one of this table; null: there is none.
  const ResolvedPlugin* find(const PluginUse& use) const;

 private:
  std::map<Place, const ResolvedPlugin*> plugins_;
};

// The options of the input plugin of this name that a training set, of those that other inputs inherit.
struct TrainedOptions {
  std::string plugin;
  std::vector<PluginOption> options;
  // They are those of the model that this training begins with: [input.train] inherits them, the others its own.
  bool of_start = false;
};

class PluginResolver {
 public:
  // Everything is borrowed; `problems` gets what is wrong.
  PluginResolver(const Registry& linked, const PluginSearch& search, FilePolicy& policy, const CpuFeatures& cpu,
                 PathContext paths, Diagnostics& problems);

  // What could be resolved of the manifest's plugins; complete if no problem was added. What the manifest leaves out
  // (default hooks, the default saver) its caller has put in before. `trained` null: only [input.train] says it.
  ResolvedPlugins resolve(const Manifest& manifest, const TrainedOptions* trained = nullptr);
  // Adds those of [optimizer]; a training needs them.
  void resolve_optimizer(const Manifest& manifest, ResolvedPlugins& all);
  // One plugin. Nothing where it is not found; its options' problems are reported all the same.
  std::optional<ResolvedPlugin> resolve(PluginKind kind, const PluginUse& use);

  // Whether a plugin could not be found or used: then the exit status is 3, and 2 for any other problem.
  bool plugin_failed() const noexcept { return plugin_failed_; }
  // Of the files that the manifest names by their paths: those that others may write.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  struct Place {
    PluginInfo info;
    std::string file;
    std::optional<FileStamp> stamp;
  };
  std::optional<ResolvedPlugin> resolve_op(const PluginUse& use);
  std::optional<ResolvedPlugin> resolve_input(const std::string& section, const PluginUse& use,
                                              const Manifest& manifest, const TrainedOptions* trained);
  void resolve_optimizer_groups(const Manifest& manifest, ResolvedPlugins& all);
  // Nothing but what it is, where it is and where it is named.
  std::optional<ResolvedPlugin> locate(PluginKind kind, const PluginUse& use);
  Place find(PluginKind kind, const PluginUse& use);
  Place find_in_file(PluginKind kind, const PluginUse& use);
  // Where data is named by `file`, which is the plugin's library: the option that was meant. Empty: it is not.
  std::string data_help(PluginKind kind, const PluginUse& use, const LoadError& error) const;
  void name_instances(const std::vector<ResolvedPlugin*>& plugins);

  const Registry& linked_;
  const PluginSearch& search_;
  FilePolicy& policy_;
  const CpuFeatures& cpu_;
  PathContext paths_;
  Diagnostics& problems_;
  bool plugin_failed_ = false;
  std::vector<std::string> warnings_;
};

// A plugin among those that a program links in. NOT_FOUND; INVALID_ARGUMENT with what is wrong with its options.
// `trained`: for another input of a trained model; null: it is none.
ResolvedPlugin resolve_linked(PluginKind kind, const PluginUse& use, const Registry& linked,
                              const TrainedOptions* trained = nullptr);

// The plugin's table, its library loaded and registered where it was not yet. Throws LoadError, with the place in the
// manifest.
const RegisteredPlugin& load_plugin(const ResolvedPlugin& plugin, Loader& loader, Registry& registry);

}  // namespace belay::runtime
