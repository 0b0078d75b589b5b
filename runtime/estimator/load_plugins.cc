// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "runtime/estimator/plugin_problem.h"
#include "runtime/estimator/prepare.h"

namespace belay::runtime {
namespace {

// Makes one instance after the other, so that all that is wrong is reported at once.
class Instances {
 public:
  Instances(PreparedRun& run, Diagnostics& problems)
      : run_(run), uses_(run.uses()), found_(run.plugins.found()), problems_(problems) {}

  void make_saver_and_model();
  void make_inputs();
  void make_optimizer();
  void make_cluster();
  void make_init_fns();
  void make_hooks();

 private:
  // Mistakes of the options become problems at `use`.
  template <class F>
  void attempt(const PluginUse& use, F&& make) {
    try {
      make();
    } catch (const Error& e) {
      if (e.code() != Code::kInvalidArgument) throw;
      add_plugin_problem(use, e, problems_);
    }
  }
  PluginInstance& create(const ResolvedPlugin& plugin, CallMonitor& monitor) {
    return run_.plugins.create(run_.plugins.loaded(plugin), monitor);
  }
  // Null, with a problem, if the options are wrong.
  PluginInstance* made(const ResolvedPlugin& plugin, const PluginUse& use, CallMonitor& monitor) {
    PluginInstance* instance = nullptr;
    attempt(use, [&] { instance = &create(plugin, monitor); });
    return instance;
  }
  void make_init_fn(const ResolvedPlugin& init_fn, const PluginUse& use);

  PreparedRun& run_;
  const Manifest uses_;
  const ResolvedPlugins& found_;
  Diagnostics& problems_;
};

void Instances::make_saver_and_model() {
  attempt(*uses_.scaffold.saver,
          [&] { run_.host.use_codec(saver_use(create(*found_.saver, run_.host.saver_monitor()))); });
  run_.model_instance = made(*found_.model, *uses_.model, run_.host.monitor());
}

void Instances::make_inputs() {
  for (const auto& [name, input] : found_.inputs) {
    if (run_.is_training() && name == "predict") continue;  // check_predict_input() makes it for a moment
    RunInput& opened = run_.inputs.at(name);
    opened.instance = made(input, uses_.inputs.at(name), opened.monitor);
  }
}

void Instances::make_optimizer() {
  if (!found_.optimizer) return;
  const Manifest& manifest = run_.manifest;
  CallMonitor& monitor = run_.host.monitor();
  PluginInstance* optimizer = made(*found_.optimizer, optimizer_use(manifest), monitor);
  PluginInstance* schedule = found_.schedule ? made(*found_.schedule, *schedule_use(manifest), monitor) : nullptr;
  std::vector<PluginInstance*> groups(found_.optimizer_groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (found_.optimizer_groups[i]) groups[i] = made(*found_.optimizer_groups[i], optimizer_use(manifest, i), monitor);
  if (optimizer == nullptr) return;
  run_.optimizer.emplace(OptimizerUse{manifest.optimizer, *optimizer, schedule});
  run_.optimizer->groups = std::move(groups);
}

void Instances::make_cluster() {
  if (!found_.cluster) return;
  RunStrategy& strategy = *run_.strategy;
  attempt(*uses_.cluster, [&] { strategy.use_cluster(create(*found_.cluster, strategy.cluster_monitor()), uses_); });
}

void Instances::make_init_fns() {
  for (std::size_t i = 0; i < found_.init_fns.size(); ++i) make_init_fn(found_.init_fns[i], uses_.scaffold.init_fn[i]);
}

// It looks for its files then. A run that continues from a checkpoint calls none, and no longer needs these files.
void Instances::make_init_fn(const ResolvedPlugin& init_fn, const PluginUse& use) {
  try {
    run_.training.add_init_fn(run_.plugins.loaded(init_fn));
  } catch (const Error& e) {
    if (!is_of_manifest(e)) throw;
    const bool goes_on = !run_.strategy->own_run() || (!run_.options.from_scratch && run_.resume.finds_checkpoint());
    if (e.code() != Code::kNotFound || !goes_on) return add_plugin_problem(use, e, problems_);
    run_.host.log().info("", std::string(e.message()) + "; it is not needed: this run goes on from a checkpoint");
  }
}

void Instances::make_hooks() {
  for (std::size_t i = 0; i < found_.hooks.size(); ++i)
    attempt(uses_.hooks[i], [&] { run_.strategy->add_hook(run_.plugins.loaded(found_.hooks[i]), i); });
}

}  // namespace

void load_plugins(PreparedRun& run, Diagnostics& problems) {
  if (const std::string why = run.strategy->why_apart(); !why.empty()) run.host.log().warning("", why);
  run.plugins.load();
  run.plugins.add_ops(*run.ops);
  Instances instances(run, problems);
  instances.make_saver_and_model();
  instances.make_inputs();
  instances.make_optimizer();
  instances.make_cluster();
  if (problems.empty()) {
    make_exporters(run);
    evaluate_while_training(run);
  }
  instances.make_init_fns();
  instances.make_hooks();
}

}  // namespace belay::runtime
