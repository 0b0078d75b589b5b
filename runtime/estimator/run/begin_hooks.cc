// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/checkpoint/format/index.h"
#include "runtime/estimator/problems/plugin_problem.h"
#include "runtime/estimator/run/prepare.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Returns the addition to a message about a missing metric of an evaluation. Empty: the message is about something
// else.
std::string about_evaluations(const PreparedRun& run, const std::string& message) {
  for (const std::string& matrix : run.evaluations.matrices)
    if (message.find(single_quoted(matrix)) != message.npos)
      return "; the metric is a matrix, no number: it is in the events only";
  for (const std::string& name : eval_inputs(run.manifest)) {
    if (message.find("the graph has no '" + name + "/") == message.npos) continue;
    if (!run.evaluations.while_training)
      return "; nothing is evaluated between two steps: set every_steps, every_secs or at_checkpoint in [eval]";
    if (message.find("did you mean") == message.npos) return "; there are: " + joined(run.evaluations.metrics);
  }
  return "";
}

// The message begins with the hook's name.
void add_hook_problem(const PreparedRun& run, const Error& error, Diagnostics& problems) {
  const Error e(error.code(), std::string(error.message()) + about_evaluations(run, std::string(error.message())));
  const Manifest uses = run.uses();
  const std::vector<ResolvedPlugin>& found = run.plugins.found().hooks;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (e.message().starts_with("hook " + double_quoted(found[i].instance_name) + " "))
      return add_plugin_problem(uses.hooks[i], e, problems);
  problems.add({run.manifest.file, 0, 0}, e.what());
}

// Finds an option that names a metric of evaluations, if none is made between two steps.
void check_metric_names(const PluginUse& hook, const std::vector<std::string>& metrics, Diagnostics& problems) {
  for (const PluginOption& option : hook.options)
    if (const auto* text = std::get_if<std::string>(&option.value);
        text != nullptr && std::find(metrics.begin(), metrics.end(), *text) != metrics.end())
      problems.add(
          option.value_at,
          "[B5029] no evaluation is made between two steps, so " + double_quoted(*text) + " never has a value here",
          "set every_steps, every_secs or at_checkpoint in [eval]");
}

// Finds hooks that have nothing to look at, or to restore.
void check_hooks(const PreparedRun& run, Diagnostics& problems) {
  const Manifest uses = run.uses();
  const bool has_directory = !run.manifest.run.dir.empty();
  const bool restores = run.manifest.checkpoint.keep_best > 0 && has_directory;
  const auto& evals = run.evaluations.while_training;
  for (const PluginUse& hook : uses.hooks) {
    if (hook.plugin == "restore_best" && !restores)
      problems.add(hook.plugin_at, "[B5030] restore_best has nothing to restore: the run keeps no best checkpoints",
                   has_directory ? "set keep_best = 1 in [checkpoint]"
                                 : "give the run a directory (run.dir), and set keep_best = 1 in [checkpoint]");
    if (evals && !evals->scheduled() && hook.plugin != "prometheus")
      check_metric_names(hook, run.evaluations.metrics, problems);
  }
}

// Checks the graph with the variables of the hooks. A graph that no checkpoint can hold is refused before training.
void check_savable(const PreparedRun& run, Diagnostics& problems) {
  const Manifest& manifest = run.manifest;
  const bool saves = !manifest.run.dir.empty() && run.strategy->own_run() && saves_by_itself(manifest.checkpoint);
  if (!saves || !run.strategy->chief()) return;
  const NodeGraph& graph = run.model.graph;
  std::vector<TensorInfo> variables;
  for (const Port& p : graph.collection(collections::kGlobalVariables)) {
    const auto& [dtype, shape] = graph.spec(p);
    variables.push_back({graph.node(p.node).name, dtype, shape.dims()});
  }
  try {
    check_index_holds(variables);
  } catch (const Error& e) {
    problems.add(manifest.model->plugin_at, e.what());
  }
}

}  // namespace

// If a hook asks the graph for a name that does not exist, the manifest has a mistake. It is shown at its place there.
void begin_hooks(PreparedRun& run, Diagnostics& problems) {
  if (!run.is_training()) return;
  try {
    run.training.begin_hooks(run.model.graph);
    check_hooks(run, problems);
    check_savable(run, problems);
  } catch (const Error& e) {
    if (e.code() != Code::kNotFound && e.code() != Code::kInvalidArgument) throw;
    add_hook_problem(run, e, problems);
  }
}

}  // namespace belay::runtime
