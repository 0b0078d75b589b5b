// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/run_evaluations.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "runtime/estimator/evaluation/model_metrics.h"
#include "runtime/estimator/host/monitored_training_session.h"
#include "runtime/estimator/problems/input_checks.h"
#include "runtime/estimator/problems/plugin_problem.h"
#include "runtime/estimator/run/build_scaffold.h"
#include "runtime/loader/file/load_error.h"  // at_text
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr const char* kEvalNeeds =
    "an evaluation input needs the features and labels of [input.train], with the same widths";

bool shows_evaluations_in_its_end(const ResolvedPlugin& hook) { return hook.info.name == "prometheus"; }

}  // namespace

void RunEvaluations::join(NodeGraph& training) {
  if (!while_training) return;
  for (std::unique_ptr<Evaluation>& evaluation : built) while_training->add(std::move(evaluation), training);
  built.clear();
}

void evaluate_while_training(PreparedRun& run) {
  const Manifest& manifest = run.manifest;
  if (!run.is_training() || eval_inputs(manifest).empty()) return;
  std::optional<EvalWhileTraining>& evals = run.evaluations.while_training;
  EvalWhileTrainingOptions options;
  options.settings = manifest.eval;
  options.keep_going = [&run] { return run.keep_going(); };
  options.left_open = [&run] { return run.host.attempt() > 1 && !run.host.had_finished(); };
  const bool keeps_best = manifest.checkpoint.keep_best > 0 && !manifest.run.dir.empty();
  const bool exports = run.exports.after_evaluations();
  if (keeps_best || exports) options.best_metric = manifest.checkpoint.best_metric;
  if (keeps_best) {
    options.note_end = [&run](std::int64_t step) {
      run.host.saver()->note_while_ending(EvalRoles::kHookName, EvalRoles::kEndedAt, step);
    };
    options.note_best = [&run, &evals](std::int64_t step, double value) {
      run.host.saver()->note_evaluation(step, value,
                                        [&evals](VariableStore& trained) { return evals->has_seen(trained); });
    };
  }
  if (exports)
    options.evaluated = [&run](VariableStore& trained, std::int64_t step, std::optional<double> value) {
      run.exports.exporters->evaluated(trained, step, value);
    };
  const bool shown = std::ranges::any_of(run.plugins.found().hooks, shows_evaluations_in_its_end);
  options.shown_in_end = shown;
  if (shown && !manifest.run.dir.empty() && saves_by_itself(manifest.checkpoint))
    options.save_before_end = [&run] {
      if (run.host.saver() != nullptr) run.host.saver()->save_requested_by_hook();
    };
  evals.emplace(run.host.environment(), std::move(options));
  if (keeps_best || exports || shown || evals->scheduled()) {
    run.training.add_hook(EvalRoles::kHookName, evals->hook());
  } else {
    evals.reset();
  }
}

// ---- the building

namespace {

// Returns the manifest with the options of the model's training, which may have come from --set.
Manifest as_trained(const PreparedRun& run) {
  Manifest manifest = run.manifest;
  const auto train = manifest.inputs.find("train");
  const std::optional<TrainedOptions> trained = run.schema.trained_options();
  if (!trained || train == manifest.inputs.end() || train->second.plugin != trained->plugin) return manifest;
  std::vector<PluginOption>& options = train->second.options;
  for (const PluginOption& option : trained->options) {
    std::erase_if(options, [&](const PluginOption& o) { return o.key == option.key; });
    options.push_back(option);
  }
  return manifest;
}

// Finds an input that would fail in the first evaluation, or that would never end.
bool check_eval_input(PreparedRun& run, const RunInput& input, Diagnostics& problems) {
  const InputSection& section = run.manifest.inputs.at(input.name);
  const ResolvedPlugin& plugin = run.plugins.found().inputs.at(input.name);
  if (run.manifest.eval.batches == 0 && never_ends(plugin, section))
    problems.add(section.plugin_at,
                 "[B5025] [input." + input.name + "] never ends, so an evaluation on it would not either",
                 "add epochs = 1, or set batches in [eval]");
  const std::size_t before = problems.size();
  const ResolvedPlugin* training = run.plugins.training_input(as_trained(run));
  if (training != nullptr) check_held_out({input.name, section}, plugin, *training, problems);
  return problems.size() == before;
}

void build_evaluation(PreparedRun& run, RunInput& input, Diagnostics& problems) {
  RunEvaluations& evaluations = run.evaluations;
  EvaluationOptions options;
  options.batches = run.manifest.eval.batches;
  if (const std::int64_t most = run.options.most_eval_batches; most != 0)
    options.batches = options.batches == 0 ? most : std::min(options.batches, most);
  options.on_batch = [&evaluations] { evaluations.progress(); };
  options.running = &evaluations.running;
  options.add_metrics = [&run](NodeGraph& graph, ModelOutputs& outputs) {
    add_metrics(graph, run.manifest.metrics, outputs);
  };
  options.add_hooks = [&run](SessionHost& session, const ModelOutputs& outputs) {
    add_model_hooks(session, run.plugins, *run.model_instance, outputs);
  };
  evaluations.built.push_back(
      std::make_unique<Evaluation>(run.host, *run.ops, *run.model_instance, input, std::move(options)));
  const Evaluation& built = *evaluations.built.back();
  for (const std::string& metric : built.metric_names()) evaluations.metrics.push_back(input.name + "/" + metric);
  for (const std::string& metric : built.matrix_names()) evaluations.matrices.push_back(input.name + "/" + metric);
  if (run.is_training())
    check_variables({input.name, run.manifest.inputs.at(input.name)}, built.graph(), run.model.graph, kEvalNeeds,
                    problems);
}

// Adds it at the place of [[metrics]] that the message begins with, else at the input: the model was built on another
// one.
void add_evaluation_problem(const Manifest& manifest, const RunInput& input, const Error& e, Diagnostics& problems) {
  const std::string message(e.message());
  for (const MetricSection& m : manifest.metrics)
    for (const Location& at : {m.labels.at, m.predictions.at, m.values.at, m.weights.at, m.name_at, m.at})
      if (const std::string place = at_text(at); !place.empty() && message.starts_with(place))
        return problems.add(at, message.substr(place.size()));
  if (message.find(" brings a hook: ") != message.npos) return add_plugin_problem(*manifest.model, e, problems);
  problems.add(manifest.inputs.at(input.name).plugin_at, "[B5026] on [input." + input.name + "]: " + message,
               "an evaluation input needs the features and labels of [input.train]");
}

}  // namespace

void build_evaluations(PreparedRun& run, Diagnostics& problems) {
  for (const std::string& name : eval_inputs(run.manifest)) {
    RunInput& input = run.inputs.at(name);
    if (!open_input(run, input, problems) || !check_eval_input(run, input, problems)) continue;
    try {
      build_evaluation(run, input, problems);
    } catch (const Error& e) {
      if (!is_of_manifest(e)) throw;
      add_evaluation_problem(run.manifest, input, e, problems);
    }
  }
}

void check_best_metric(const Manifest& manifest, const RunEvaluations& evaluations, Diagnostics& problems) {
  const std::string& wanted = manifest.checkpoint.best_metric;
  const std::vector<std::string>&there = evaluations.metrics, &matrices = evaluations.matrices;
  if (!wants_best_metric(manifest) || std::find(there.begin(), there.end(), wanted) != there.end()) return;
  // An evaluation that could not be built has a problem already.
  if (evaluations.built.size() != eval_inputs(manifest).size()) return;
  const char* key = manifest.places.contains("checkpoint.best_metric") ? "best_metric" : "keep_best";
  const Location at = manifest.at("checkpoint." + std::string(key));
  const std::string those = "the best checkpoints are those by " + double_quoted(wanted);
  if (std::find(matrices.begin(), matrices.end(), wanted) != matrices.end())
    return problems.add(at, fmt::format("[B5029] {}, which is a matrix, no number", those),
                        "there are: " + joined(there));
  const std::string near = nearest(wanted, there);
  problems.add(at, fmt::format("[B5029] {}, which no evaluation has", those),
               near.empty() ? "there are: " + joined(there) : "did you mean " + double_quoted(near) + "?");
}

}  // namespace belay::runtime
