// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/host/run_plugins.h"

#include "runtime/ops/plugin/plugin_op.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

RunPlugins::RunPlugins(RunHost& run, const Manifest& manifest, const Environment& environment)
    : run_(run),
      search_(std::make_unique<PluginSearch>(plugin_search_path(manifest.plugins.path, environment), policy_, cpu_)),
      paths_{manifest.directories, environment},
      loader_(std::make_unique<Loader>(policy_, cpu_, environment("LD_LIBRARY_PATH").value_or(""))) {
  run_.use_other_savers({[this](const std::string& name) { return other_saver(name); }});
}

RunPlugins::RunPlugins(RunHost& run, const std::vector<const belay_module*>& linked) : run_(run) {
  for (const belay_module* module : linked) registry_.add_linked(module);
  run_.use_other_savers({[this](const std::string& name) { return other_saver(name); }});
}

RunPlugins::~RunPlugins() = default;

// ---- of a manifest ----

bool RunPlugins::find(const Manifest& manifest, Diagnostics& problems, const TrainedOptions* trained) {
  for (const std::string& w : search_->warnings()) run_.log().warning("plugins", w);
  PluginResolver resolver(registry_, *search_, policy_, cpu_, paths_, problems);
  found_ = resolver.resolve(manifest, trained);
  if (trains(manifest.run.mode)) resolver.resolve_optimizer(manifest, found_);
  for (const std::string& w : resolver.warnings()) run_.log().warning("plugins", w);
  warn_of_other_options(trains(manifest.run.mode));
  return !resolver.plugin_failed();
}

void RunPlugins::find_inputs(const Manifest& manifest, Diagnostics& problems, const TrainedOptions& trained) {
  Manifest inputs;
  inputs.directories = manifest.directories;
  inputs.inputs = manifest.inputs;
  PluginResolver resolver(registry_, *search_, policy_, cpu_, paths_, problems);
  found_.inputs = resolver.resolve(inputs, &trained).inputs;
  warn_of_other_options(trains(manifest.run.mode));
}

void RunPlugins::warn_of_other_options(bool training) const {
  for (const auto& [name, input] : found_.inputs)
    if (name != "train" || training)
      for (const std::string& option : input.other_than_training)
        run_.log().warning("", "[input." + name + "] sets " + option +
                                   " otherwise than the training did: the model gets other values than it was "
                                   "trained on");
}

const ResolvedPlugin* RunPlugins::training_input(const Manifest& manifest) {
  if (const auto used = found_.inputs.find("train"); used != found_.inputs.end()) return &used->second;
  const auto train = manifest.inputs.find("train");
  if (train == manifest.inputs.end()) return nullptr;
  Manifest alone;
  alone.directories = manifest.directories;
  alone.inputs.insert(*train);
  Diagnostics of_no_concern;
  PluginResolver resolver(registry_, *search_, policy_, cpu_, paths_, of_no_concern);
  unused_inputs_ = resolver.resolve(alone).inputs;
  return unused_inputs_.empty() ? nullptr : &unused_inputs_.begin()->second;
}

void RunPlugins::warn_of_loading() {
  const std::vector<std::string>& warnings = loader_->warnings();
  for (; warned_ < warnings.size(); ++warned_) run_.log().warning("plugins", warnings[warned_]);
}

void RunPlugins::load(const ResolvedPlugin& plugin) {
  CallPlace& place = *run_.monitor().place.load();
  if (!plugin.file.empty())
    place.call = run_.number_of("plugin '" + escaped(plugin.file) + "', which was being loaded") * std::uint64_t{256};
  load_plugin(plugin, *loader_, registry_);
  place.call = 0;
  warn_of_loading();
}

void RunPlugins::load() {
  for (const auto& [name, input] : found_.inputs) load(input);
  load(*found_.model);
  load(*found_.saver);
  if (found_.optimizer) load(*found_.optimizer);
  if (found_.schedule) load(*found_.schedule);
  for (const ResolvedPlugin& p : found_.init_fns) load(p);
  for (const ResolvedPlugin& p : found_.hooks) load(p);
  for (const ResolvedPlugin& p : found_.exporters) load(p);
  if (found_.cluster) load(*found_.cluster);
  for (const ResolvedPlugin& p : found_.ops) load(p);
  loader_->rest();
}

FoundUse RunPlugins::loaded(const ResolvedPlugin& plugin) { return {load_plugin(plugin, *loader_, registry_), plugin}; }

// ---- of a program ----

FoundUse RunPlugins::linked(PluginKind kind, const PluginUse& use, const TrainedOptions* trained) {
  const ResolvedPlugin& linked = linked_uses_.emplace_back(resolve_linked(kind, use, registry_, trained));
  return {*registry_.find(kind, use.plugin, ""), linked};
}

SaverUse RunPlugins::linked_saver(const std::string& name, CallMonitor& monitor) {
  PluginUse use;
  use.plugin = name;
  return saver_use(create(linked(PluginKind::kSaver, use), monitor));
}

// ---- both ----

ResolvedPlugin RunPlugins::resolve_brought(PluginUse hook, const RegisteredPlugin& model) {
  if (registry_.find(PluginKind::kHook, hook.plugin, model.file) != nullptr) hook.file = model.file;
  hook.at = found_.model->at;
  return resolve_late(PluginKind::kHook, hook);
}

// For plugins that no manifest names.
ResolvedPlugin RunPlugins::resolve_late(PluginKind kind, const PluginUse& use) {
  Diagnostics problems;
  PluginResolver resolver(registry_, *search_, policy_, cpu_, paths_, problems);
  std::optional<ResolvedPlugin> resolved = resolver.resolve(kind, use);
  for (const std::string& w : resolver.warnings()) run_.log().warning("plugins", w);
  if (problems.empty()) return std::move(*resolved);
  const Diagnostic problem = problems.sorted().front();
  if (resolver.plugin_failed()) throw LoadError(LoadErrorKind::kNotFound, "", coded_message(problem), problem.help);
  fail(Code::kInvalidArgument, coded_message(problem) + (problem.help.empty() ? "" : "; " + problem.help));
}

FoundUse RunPlugins::brought(const PluginUse& hook, const PluginInstance& model) {
  try {
    if (search_ == nullptr) return linked(PluginKind::kHook, hook);
    const ResolvedPlugin& use = brought_uses_.emplace_back(resolve_brought(hook, model.plugin()));
    load(use);
    loader_->rest();
    return loaded(use);
  } catch (const LoadError& e) {
    throw LoadError(e.kind(), e.path(),
                    "[" + e.code_text() + "] " + e.reason() + ", a hook that " + model.label() + " brings", e.help());
  } catch (const Error& e) {
    fail(e.code(), model.label() + " brings the hook \"" + hook.plugin + "\": " + e.what());
  }
}

SaverUse RunPlugins::other_saver(const std::string& name) {
  if (const auto known = other_savers_.find(name); known != other_savers_.end()) return known->second;
  const PluginUse use = plugin_use(name, {}, "the saver of another run");
  if (search_ == nullptr)
    return other_savers_[name] = saver_use(create(linked(PluginKind::kSaver, use), run_.monitor()));
  try {
    ResolvedPlugin& resolved = brought_uses_.emplace_back(resolve_late(PluginKind::kSaver, use));
    resolved.instance_name = name;
    load(resolved);
    loader_->rest();
    return other_savers_[name] = saver_use(create(loaded(resolved), run_.monitor()));
  } catch (const LoadError& e) {
    fail(Code::kNotFound, e.reason() + (e.help().empty() ? "" : "; " + e.help()));
  }
}

const PluginInfo* RunPlugins::info(PluginKind kind, const std::string& name) const {
  if (search_ == nullptr) return nullptr;
  for (const FoundPlugin& plugin : search_->plugins())
    if (plugin.info.kind == kind && plugin.info.name == name) return &plugin.info;
  return nullptr;
}

PluginInstance& RunPlugins::create(const FoundUse& plugin, CallMonitor& monitor) {
  return instances_.create(plugin.plugin, plugin.use, run_.services(), monitor, run_.number_of(plugin.label()));
}

void RunPlugins::add_ops(OpRegistry& ops) {
  for (const RegisteredPlugin& p : registry_.plugins()) {
    if (p.info.kind != PluginKind::kOp) continue;
    ResolvedPlugin use;
    use.instance_name = p.info.name;
    for (const ResolvedPlugin& named : found_.ops)
      if (named.info.name == p.info.name && named.file == p.file) use.at = named.at;
    add_plugin_op(ops, create({p, use}, run_.monitor()));
  }
}

}  // namespace belay::runtime
