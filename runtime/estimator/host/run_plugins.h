// SPDX-License-Identifier: Apache-2.0
// The plugins of a run: found by name, loaded, made into instances. The instances that belong to no session (model,
// saver, inputs, operations) are its own; hooks and init functions are a SessionHost's.
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
  // Plugins that the program links in.
  RunPlugins(RunHost& run, const std::vector<const belay_module*>& linked);
  ~RunPlugins();
  RunPlugins(const RunPlugins&) = delete;
  RunPlugins& operator=(const RunPlugins&) = delete;

  // ---- of a manifest
  // False if a plugin is the trouble; `problems` has all. `trained`: as PluginResolver::resolve.
  bool find(const Manifest& manifest, Diagnostics& problems, const TrainedOptions* trained = nullptr);
  // The inputs alone once more, after load(), with the options that they inherit from another training.
  void find_inputs(const Manifest& manifest, Diagnostics& problems, const TrainedOptions& trained);
  const ResolvedPlugins& found() const noexcept { return found_; }
  // [input.train], also in a mode that does not use it, until the next call; null: there is none, or it cannot be
  // resolved.
  const ResolvedPlugin* training_input(const Manifest& manifest);
  // The libraries of all that was found: a refused one shows before any plugin's code has done anything but initialize
  // its globals. LoadError.
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
  // A hook that a model brings: of the model's own library, else found as one of the manifest is, and loaded.
  // LoadError, NOT_FOUND, INVALID_ARGUMENT with the model and the hook.
  FoundUse brought(const PluginUse& hook, const PluginInstance& model);
  // A saver that wrote a checkpoint of another run: found and loaded as a manifest's is, with its defaults, the first
  // time that it is asked for. NOT_FOUND, or why it was refused.
  SaverUse other_saver(const std::string& name);
  // `monitor`: of the thread that calls it.
  PluginInstance& create(const FoundUse& plugin, CallMonitor& monitor);
  // Every operation of every library that the run uses: those of [[ops]], and those that come with a model or a hook.
  void add_ops(OpRegistry& ops);
  // The note of a plugin in the search path that the run need not use; null: there is none of that name.
  const PluginInfo* info(PluginKind kind, const std::string& name) const;
  const Registry& registry() const noexcept { return registry_; }

 private:
  void load(const ResolvedPlugin& plugin);
  void warn_of_loading();
  // An input that is not the training's own may set options otherwise than the training did.
  void warn_of_other_options(bool training) const;
  ResolvedPlugin resolve_brought(PluginUse hook, const RegisteredPlugin& model);
  ResolvedPlugin resolve_late(PluginKind kind, const PluginUse& use);

  RunHost& run_;
  FilePolicy policy_;
  CpuFeatures cpu_;
  std::unique_ptr<PluginSearch> search_;  // null: nothing but what is linked in
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
