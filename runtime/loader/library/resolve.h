// SPDX-License-Identifier: Apache-2.0
// Finds the files and the options of the plugins that a manifest names, without running their code.
//
//   PluginResolver resolver(registry, search, policy, cpu, {manifest.directories, environment}, problems);
//   const ResolvedPlugins plugins = resolver.resolve(manifest);
//   if (!problems.empty()) ...                                      all of them, at once
//   const RegisteredPlugin& model = load_plugin(*plugins.model, loader, registry);
//
// A name is looked up among the linked-in plugins first, then in the search path. `file` is that one file: its only
// plugin of the kind, or the one that `plugin` names. [main]
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "runtime/loader/file/search.h"
#include "runtime/loader/library/registry.h"
#include "runtime/loader/options/check_options.h"

namespace belay::runtime {

struct ResolvedPlugin {
  PluginInfo info;
  std::string file;                // empty: linked in
  std::optional<FileStamp> stamp;  // of the file when its note was read
  // The manifest's `name`. Else an input has its section's name ("train"), others the plugin's name, then name_1,
  // name_2. It is unique among the plugins of a kind.
  std::string instance_name;
  OptionValues options;
  OnHookError on_error = OnHookError::kStop;
  Location at;  // of the table in the manifest
  // For an input: the options that decide the content of its batches (OptionInfo::learned), with the values of the
  // model's training.
  std::vector<PluginOption> learned_options = {};  // those set here, or inherited
  std::set<std::string> other_than_training = {};  // those with another value here
  std::vector<PluginOption> inherited = {};        // those of the training alone
};

struct ResolvedPlugins {
  std::map<std::string, ResolvedPlugin> inputs;  // by section
  std::optional<ResolvedPlugin> model;
  std::optional<ResolvedPlugin> saver;
  std::vector<ResolvedPlugin> init_fns;
  std::vector<ResolvedPlugin> hooks;  // in calling order
  std::vector<ResolvedPlugin> exporters;
  std::optional<ResolvedPlugin> cluster;
  std::optional<ResolvedPlugin> optimizer;  // for a training
  std::optional<ResolvedPlugin> schedule;   // none: the learning rate is a number
  // The optimizer for each of [optimizer]'s groups, with that group's options; none for a frozen one.
  std::vector<std::optional<ResolvedPlugin>> optimizer_groups;
  // Named in [[ops]]. The other operations of every used library come with them.
  std::vector<ResolvedPlugin> ops;
};

// Plugins, borrowed, by the tables in which the manifest names them.
class PluginsByPlace {
 public:
  using Place = std::tuple<int, int, std::string_view>;

  explicit PluginsByPlace(const std::vector<ResolvedPlugin>& plugins);
  // Returns the plugin of this table; null: there is none.
  const ResolvedPlugin* find(const PluginUse& use) const;

 private:
  std::map<Place, const ResolvedPlugin*> plugins_;
};

// The options that a training set for the input plugin of this name, as far as other inputs inherit them.
struct TrainedOptions {
  std::string plugin;
  std::vector<PluginOption> options;
  // They are those of the model that this training begins with. [input.train] inherits them, and the others inherit
  // from it.
  bool of_start = false;
};

class PluginResolver {
 public:
  // Borrows everything. `problems` gets all problems.
  PluginResolver(const Registry& linked, const PluginSearch& search, FilePolicy& policy, const CpuFeatures& cpu,
                 PathContext paths, Diagnostics& problems);

  // Returns the resolved plugins of the manifest; complete if no problem was added. The caller has already added the
  // parts that the manifest leaves out (default hooks, the default saver). `trained` null: only [input.train] has these
  // options.
  ResolvedPlugins resolve(const Manifest& manifest, const TrainedOptions* trained = nullptr);
  // Adds those of [optimizer] for a training.
  void resolve_optimizer(const Manifest& manifest, ResolvedPlugins& all);
  // Resolves one plugin. None: it is not found; its options' problems are still reported.
  std::optional<ResolvedPlugin> resolve(PluginKind kind, const PluginUse& use);

  // True if a plugin could not be found or used. Then the exit status is 3; it is 2 for any other problem.
  bool plugin_failed() const noexcept { return plugin_failed_; }
  // Returns the manifest's files by path that others may write.
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
  // Finds only its kind, its file and its place in the manifest.
  std::optional<ResolvedPlugin> locate(PluginKind kind, const PluginUse& use);
  Place find(PluginKind kind, const PluginUse& use);
  Place find_in_file(PluginKind kind, const PluginUse& use);
  // Helps if `file`, which is the plugin's library, names data: returns the option that was meant. Empty: it does not.
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

// Resolves a linked plugin of a program. NOT_FOUND: there is none. INVALID_ARGUMENT names the faults of its options.
// `trained` is for another input of a trained model; else null.
ResolvedPlugin resolve_linked(PluginKind kind, const PluginUse& use, const Registry& linked,
                              const TrainedOptions* trained = nullptr);

// Returns the plugin's table, and first loads and registers its library if necessary. Throws LoadError with the place
// in the manifest.
const RegisteredPlugin& load_plugin(const ResolvedPlugin& plugin, Loader& loader, Registry& registry);

}  // namespace belay::runtime
