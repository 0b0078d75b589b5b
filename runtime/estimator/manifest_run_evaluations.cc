// SPDX-License-Identifier: Apache-2.0
// The evaluations of a ManifestRun: those between two steps, and those of a checkpoint.
#include <algorithm>

#include "runtime/checkpoint/best_checkpoints.h"
#include "runtime/estimator/manifest_run.h"
#include "runtime/estimator/model_metrics.h"
#include "runtime/estimator/monitored_training_session.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

// An input whose option `epochs`, as all first-party inputs spell it, is 0: for ever.
bool never_ends(const ResolvedPlugin& input, const PluginUse& section) {
  const OptionInfo* epochs = input.info.option("epochs");
  if (epochs == nullptr || epochs->type != OptionType::kInt) return false;
  std::optional<OptionValue> value = epochs->default_value;
  for (const PluginOption& option : section.options)
    if (option.key == "epochs") value = option.value;
  const auto* number = value ? std::get_if<std::int64_t>(&*value) : nullptr;
  return number != nullptr && *number == 0;
}

}  // namespace

// Before the other hooks: they see what it restores.
void ManifestRun::make_evals() {
  if (!trains(manifest_.run.mode) || eval_inputs(manifest_).empty()) return;
  EvalWhileTrainingOptions options;
  options.settings = manifest_.eval;
  options.keep_going = [this] { return keep_going(); };
  const bool keeps_best = manifest_.checkpoint.keep_best > 0 && !manifest_.run.dir.empty();
  if (keeps_best) {
    options.best_metric = manifest_.checkpoint.best_metric;
    options.note_best = [this](std::int64_t step, double value) { host_.saver()->note_evaluation(step, value); };
  }
  const bool exports = exporters_ != nullptr && exporters_->wants_evaluations();
  if (exports) {
    options.best_metric = manifest_.checkpoint.best_metric;
    options.evaluated = [this](VariableStore& trained, std::int64_t step, std::optional<double> value) {
      exporters_->evaluated(trained, step, value);
    };
  }
  evals_.emplace(host_.environment(), std::move(options));
  if (keeps_best || exports || evals_->scheduled()) {
    training_.add_hook(EvalRoles::kHookName, evals_->hook());
  } else {
    evals_.reset();
  }
}

void ManifestRun::build_evaluations(Diagnostics& problems) {
  for (const std::string& name : eval_inputs(manifest_)) {
    RunInput& input = inputs_.at(name);
    input.open(manifest_.run.seed);
    check_eval_input(input, problems);
    EvaluationOptions options;
    options.batches = manifest_.eval.batches;
    options.on_batch = [this] { progress_(); };
    options.running = &evaluating_;
    options.add_metrics = [this](NodeGraph& graph, ModelOutputs& outputs) {
      add_metrics(graph, manifest_.metrics, outputs);
    };
    options.add_hooks = [this](SessionHost& session, const ModelOutputs& outputs) {
      add_model_hooks(session, plugins_, *model_instance_, outputs);
    };
    evaluations_.push_back(std::make_unique<Evaluation>(host_, *ops_, *model_instance_, input, std::move(options)));
    if (trains(manifest_.run.mode)) check_eval_variables(*evaluations_.back(), problems);
  }
}

// What would fail in the first evaluation, or never come back from it.
void ManifestRun::check_eval_input(const RunInput& input, Diagnostics& problems) const {
  const InputSection& section = manifest_.inputs.at(input.name);
  if (manifest_.eval.batches == 0 && never_ends(plugins_.found().inputs.at(input.name), section))
    problems.add(section.plugin_at, "[input." + input.name + "] never ends, so an evaluation on it would not either",
                 "add epochs = 1, or set batches in [eval]");
  const RunInput* training = this->input("train");
  if (training == nullptr || training->feed == nullptr) return;
  std::vector<std::string> there;
  for (const InputComponent& c : input.feed->components())
    if (!c.label) there.push_back(c.name);
  for (const InputComponent& c : training->feed->components()) {
    if (c.label || std::find(there.begin(), there.end(), c.name) != there.end()) continue;
    problems.add(section.plugin_at,
                 "[input." + input.name + "] has no feature " + double_quoted(c.name) + ", which [input.train] has",
                 "it has: " + joined(there));
  }
}

// A name that no evaluation has would show in the first one only.
void ManifestRun::check_best_metric(Diagnostics& problems) const {
  const std::string& wanted = manifest_.checkpoint.best_metric;
  std::vector<std::string> there;
  for (const std::unique_ptr<Evaluation>& evaluation : evaluations_)
    for (const std::string& metric : evaluation->metric_names()) there.push_back(evaluation->name() + "/" + metric);
  if (!wants_best_metric() || std::find(there.begin(), there.end(), wanted) != there.end()) return;
  const char* key = manifest_.places.contains("checkpoint.best_metric") ? "best_metric" : "keep_best";
  const std::string near = nearest(wanted, there);
  problems.add(manifest_.at("checkpoint." + std::string(key)),
               "the best checkpoints are those by " + double_quoted(wanted) + ", which no evaluation has",
               near.empty() ? "there are: " + joined(there) : "did you mean " + double_quoted(near) + "?");
}

// Variables are matched by name: one of another shape comes from an input of another width.
void ManifestRun::check_eval_variables(const Evaluation& evaluation, Diagnostics& problems) const {
  const NodeGraph& graph = evaluation.graph();
  for (const Port& p : graph.collection(collections::kGlobalVariables)) {
    const std::string& name = graph.node(p.node).name;
    const Node* trained = model_.graph.find_node(name);
    const auto described = [](const NodeGraph& g, const Port& port) {
      const auto& [dtype, shape] = g.spec(port);
      return std::string(dtype_name(dtype)) + " " + shape.text();
    };
    const std::string here = described(graph, p);
    const std::string there = trained == nullptr ? "" : described(model_.graph, {trained->id, 0});
    if (here == there) continue;
    problems.add(manifest_.inputs.at(evaluation.name()).plugin_at,
                 "on [input." + evaluation.name() + "] the model's variable " + double_quoted(name) + " is " + here +
                     (there.empty() ? ", and the training has no such variable" : ", in the training it is " + there),
                 "an evaluation input needs the features and labels of [input.train], with the same widths");
    return;
  }
}

}  // namespace belay::runtime
