// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "runtime/estimator/problems/plugin_problem.h"
#include "runtime/estimator/run/prepare.h"

namespace belay::runtime {
namespace {

// Mistakes of the options become problems at `use`, so everything wrong is reported at once.
template <class F>
void attempt(const PluginUse& use, Diagnostics& problems, F&& make) {
  try {
    make();
  } catch (const Error& e) {
    if (e.code() != Code::kInvalidArgument) throw;
    add_plugin_problem(use, e, problems);
  }
}

PluginInstance& create(PreparedRun& run, const ResolvedPlugin& plugin, CallMonitor& monitor) {
  return run.plugins.create(run.plugins.loaded(plugin), monitor);
}

// Returns null, and adds a problem, if the options are wrong.
PluginInstance* made(PreparedRun& run, const ResolvedPlugin& plugin, const PluginUse& use, CallMonitor& monitor,
                     Diagnostics& problems) {
  PluginInstance* instance = nullptr;
  attempt(use, problems, [&] { instance = &create(run, plugin, monitor); });
  return instance;
}

void make_optimizer(PreparedRun& run, Diagnostics& problems) {
  const ResolvedPlugins& found = run.plugins.found();
  const auto make = [&](const ResolvedPlugin& plugin, const PluginUse& use) {
    return made(run, plugin, use, run.host.monitor(), problems);
  };
  PluginInstance* optimizer = make(*found.optimizer, optimizer_use(run.manifest));
  PluginInstance* schedule = found.schedule ? make(*found.schedule, *schedule_use(run.manifest)) : nullptr;
  std::vector<PluginInstance*> groups(found.optimizer_groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (found.optimizer_groups[i]) groups[i] = make(*found.optimizer_groups[i], optimizer_use(run.manifest, i));
  if (optimizer == nullptr) return;
  run.optimizer.emplace(OptimizerUse{run.manifest.optimizer, *optimizer, schedule});
  run.optimizer->groups = std::move(groups);
}

// The instance looks for its files when it is made. A run that continues from a checkpoint calls no init function, and
// no longer needs these files.
void make_init_fn(PreparedRun& run, const ResolvedPlugin& init_fn, const PluginUse& use, Diagnostics& problems) {
  try {
    run.training.add_init_fn(run.plugins.loaded(init_fn));
  } catch (const Error& e) {
    if (!is_of_manifest(e)) throw;
    const bool goes_on = !run.strategy->own_run() || (!run.options.from_scratch && run.resume.finds_checkpoint());
    if (e.code() != Code::kNotFound || !goes_on) return add_plugin_problem(use, e, problems);
    run.host.log().info("", std::string(e.message()) + "; it is not needed: this run continues from a checkpoint");
  }
}

}  // namespace

void load_plugins(PreparedRun& run, Diagnostics& problems) {
  if (const std::string why = run.strategy->why_apart(); !why.empty()) run.host.log().warning("", why);
  run.plugins.load();
  run.plugins.add_ops(*run.ops);
  const Manifest uses = run.uses();
  const ResolvedPlugins& found = run.plugins.found();
  attempt(*uses.scaffold.saver, problems,
          [&] { run.host.use_codec(saver_use(create(run, *found.saver, run.host.saver_monitor()))); });
  run.model_instance = made(run, *found.model, *uses.model, run.host.monitor(), problems);
  for (const auto& [name, plugin] : found.inputs) {
    if (run.is_training() && name == "predict") continue;  // check_predict_input() makes it for a moment
    RunInput& input = run.inputs.at(name);
    input.instance = made(run, plugin, uses.inputs.at(name), input.monitor, problems);
  }
  if (found.optimizer) make_optimizer(run, problems);
  if (found.cluster)
    attempt(*uses.cluster, problems,
            [&] { run.strategy->use_cluster(create(run, *found.cluster, run.strategy->cluster_monitor()), uses); });
  if (problems.empty()) {
    make_exporters(run);
    evaluate_while_training(run);
  }
  for (std::size_t i = 0; i < found.init_fns.size(); ++i)
    make_init_fn(run, found.init_fns[i], uses.scaffold.init_fn[i], problems);
  for (std::size_t i = 0; i < found.hooks.size(); ++i)
    attempt(uses.hooks[i], problems, [&] { run.strategy->add_hook(run.plugins.loaded(found.hooks[i]), i); });
}

}  // namespace belay::runtime
