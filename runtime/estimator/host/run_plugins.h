// SPDX-License-Identifier: Apache-2.0
// The plugins of a run: found by name, loaded, made into instances. It owns the instances without a session (model,
// saver, inputs, operations). A SessionHost owns hooks and init functions.
//
//   RunPlugins plugins(run, {.path = ..., .environment = ...});
//   const bool usable = plugins.find(manifest, problems);          // notes alone; no plugin code runs
//   plugins.load();                                                // every library, before any instance
//   PluginInstance& model = plugins.create(plugins.loaded(*plugins.found().model), run.monitor());
//
// A program links its plugins in instead, and needs no find and no load:
//
//   RunPlugins plugins(run, belay::default_plugins());
//   run.use_codec(plugins.linked_saver("safetensors", run.saver_monitor()));
//
// [main], except loading()
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/estimator/host/run_host.h"
#include "runtime/graph/op_def.h"
#include "runtime/loader/file/search.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/loader/library/loader.h"
#include "runtime/loader/library/resolve.h"

namespace belay::runtime {

// A plugin whose library is loaded or linked in, with the options of one use.
struct FoundUse {
  const RegisteredPlugin& plugin;
  const ResolvedPlugin& use;  // as long as the RunPlugins that it comes from

  std::string label() const { return plugin.label(use.instance_name, use.at); }
};

class RunPlugins {
 public:
  // Plugins in the search path of `manifest`, which is borrowed.
  RunPlugins(RunHost& run, const Manifest& manifest, const Environment& environment);
  // Linked plugins of the program.
  RunPlugins(RunHost& run, const std::vector<const belay_module*>& linked);
  ~RunPlugins();
  RunPlugins(const RunPlugins&) = delete;
  RunPlugins& operator=(const RunPlugins&) = delete;

  // ---- of a manifest
  // Returns false if a plugin is at fault; `problems` has all. `trained`: as in PluginResolver::resolve.
  bool find(const Manifest& manifest, Diagnostics& problems, const TrainedOptions* trained = nullptr);
  // Finds the inputs alone again, after load(), with the options that they inherit from another training.
  void find_inputs(const Manifest& manifest, Diagnostics& problems, const TrainedOptions& trained);
  const ResolvedPlugins& found() const noexcept { return found_; }
  // Returns [input.train], also in a mode that does not use it, until the next call. Null: there is none, or it cannot
  // be resolved.
  const ResolvedPlugin* training_input(const Manifest& manifest);
  // Loads the libraries of all found plugins. A refused one shows before any plugin's code has done more than
  // initialize its globals. LoadError.
  void load();
  FoundUse loaded(const ResolvedPlugin& plugin);
  const CpuFeatures& cpu() const noexcept { return cpu_; }
  // The library that is being loaded; empty: none. Any thread.
  std::string loading() const { return loader_ == nullptr ? std::string() : loader_->loading(); }

  // ---- of a program: a plugin by its name and its options, checked. NOT_FOUND, INVALID_ARGUMENT
  FoundUse linked(PluginKind kind, const PluginUse& use, const TrainedOptions* trained = nullptr);
  SaverUse linked_saver(const std::string& name, CallMonitor& monitor);
  bool has(PluginKind kind, const std::string& name) const { return registry_.find(kind, name, "") != nullptr; }

  // ---- both
  // Finds a hook of a model: in the model's library, else like one of the manifest, and loads it. LoadError, NOT_FOUND,
  // INVALID_ARGUMENT with the model and the hook.
  FoundUse brought(const PluginUse& hook, const PluginInstance& model);
  // Returns the saver of a checkpoint of another run. It is found and loaded like a manifest's, with its defaults, at
  // the first call. NOT_FOUND, or why it was refused.
  SaverUse other_saver(const std::string& name);
  // `monitor`: of the thread that calls it.
  PluginInstance& create(const FoundUse& plugin, CallMonitor& monitor);
  // Adds every operation of every library that the run uses: those of [[ops]], and those that come with a model or a
  // hook.
  void add_ops(OpRegistry& ops);
  // The note of a plugin in the search path that the run need not use; null: there is none of this name.
  const PluginInfo* info(PluginKind kind, const std::string& name) const;
  const Registry& registry() const noexcept { return registry_; }

 private:
  void load(const ResolvedPlugin& plugin);
  void warn_of_loading();
  // Warns if an input other than the training's sets options in another way than the training did.
  void warn_of_other_options(bool training) const;
  ResolvedPlugin resolve_brought(PluginUse hook, const RegisteredPlugin& model);
  ResolvedPlugin resolve_late(PluginKind kind, const PluginUse& use);

  RunHost& run_;
  FilePolicy policy_;
  CpuFeatures cpu_;
  std::unique_ptr<PluginSearch> search_;  // null: nothing but the linked plugins
  PathContext paths_;                     // of the manifest
  std::unique_ptr<Loader> loader_;
  std::size_t warned_ = 0;  // of the loader's warnings
  Registry registry_;
  ResolvedPlugins found_;
  std::map<std::string, ResolvedPlugin> unused_inputs_;  // of training_input()
  std::deque<ResolvedPlugin> linked_uses_, brought_uses_;
  std::map<std::string, SaverUse> other_savers_;
  PluginInstances instances_;
};

}  // namespace belay::runtime
