// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/build_scaffold.h"

#include <fmt/core.h>

#include "runtime/estimator/host/monitored_training_session.h"
#include "runtime/estimator/host/scaffold_pieces.h"
#include "runtime/estimator/problems/input_checks.h"
#include "runtime/estimator/problems/plugin_problem.h"
#include "runtime/estimator/run/prepare.h"
#include "runtime/manifest/unreached_steps.h"
#include "runtime/optimizer/variable_groups.h"

namespace belay::runtime {
namespace {

// Returns "; classes of "label": 0 "no", 1 "yes"". A model has no place for these words.
std::string classes_text(const ModelSchema& schema) {
  std::string text;
  if (schema.learned() == nullptr) return text;
  for (const auto& [what, words] : schema_rows(*schema.learned()))
    if (what.starts_with("classes of ")) text += "; " + what + ": " + words;
  return text;
}

bool build_model(PreparedRun& run, RunInput& input, Diagnostics& problems) {
  try {
    run.strategy->build(*run.model_instance, input, run.declared);
    return true;
  } catch (const Error& e) {
    if (!is_of_manifest(e)) throw;
    const std::string message(e.message());
    const bool is_about_labels = message.find("label") != message.npos;
    add_plugin_problem(*run.manifest.model,
                       Error(e.code(), message + (is_about_labels ? classes_text(run.schema) : "")), problems);
    return false;
  }
}

// ---- mode train

void check_groups(PreparedRun& run, Diagnostics& problems) {
  for (const GroupProblem& problem : problems_of_groups(run.model.graph.handle(), run.manifest.optimizer.groups))
    problems.add(run.manifest.at(fmt::format("optimizer.groups.{}.vars", problem.group)),
                 fmt::format("[B5031] {}", problem.message), problem.help);
}

bool build_train_model(PreparedRun& run, RunInput& input, Diagnostics& problems) {
  if (!open_input(run, input, problems)) return false;
  run.schema.learn(input.feed->schema());
  run.host.keep_schema(run.schema.text());
  if (!build_model(run, input, problems)) return false;
  check_groups(run, problems);
  return problems.empty();
}

void build_training(PreparedRun& run, Diagnostics& problems) {
  RunInput& input = run.inputs.at("train");
  if (!build_train_model(run, input, problems)) return;
  const bool is_whole = run.options.most_eval_batches == 0 && run.strategy->own_run();
  for (const std::string& warning : is_whole ? unreached_steps(run.manifest) : std::vector<std::string>())
    run.host.log().warning("", warning);
  run.strategy->add_training(*run.optimizer);
  if (run.strategy->chief()) add_model_hooks(run.training, run.plugins, *run.model_instance, run.model.outputs);
  build_evaluations(run, problems);
  check_predict_input(run, problems);
  check_best_metric(run.manifest, run.evaluations, problems);
  build_exports(run, problems);
  if (!problems.empty()) return;
  run.evaluations.join(run.model.graph);
  run.pieces = scaffold_pieces_of(run.model.graph, run.manifest, problems);
  run.strategy->add_hooks_of_graph();
  if (!problems.empty()) return;
  if (!read_first_batch(run, input, problems)) return;
  check_labels(*input.feed, run.plugins.found().inputs.at("train"), run.model.tensors.labels, run.model.graph,
               *run.manifest.model, run.plugins.found().model->info, problems);
}

// ---- the other modes

// The training's schema decides how the inputs are read, and before the first checkpoint it is not known. The inputs
// may fit even so: with the first checkpoint the evaluations are built again.
bool build_evaluations_early(PreparedRun& run) {
  Diagnostics of_data;
  build_evaluations(run, of_data);
  for (const Diagnostic& problem : of_data.sorted())
    run.host.log().warning("", "before the first checkpoint: " + coded_message(problem) +
                                   (problem.help.empty() ? "" : "; " + problem.help));
  return of_data.empty();
}

void build_continuous_eval(PreparedRun& run, Diagnostics& problems) {
  if (!run.schema.was_read() && !build_evaluations_early(run)) return;
  if (run.schema.was_read()) build_evaluations(run, problems);
  if (run.exports.exporters != nullptr) check_best_metric(run.manifest, run.evaluations, problems);
  build_exports(run, problems);
}

// The predictions make another graph. This one shows faults before anything is read.
void build_prediction(PreparedRun& run, Diagnostics& problems) {
  check_predictions_end(run, problems);
  RunInput& input = run.inputs.at(predict_input(run.manifest));
  if (!open_input(run, input, problems)) return;
  const auto training = run.inputs.find("train");
  if (run.schema.learned() != nullptr)
    run.declared = run.schema.labels();
  else if (declared_labels(input.feed->components()).empty() && training != run.inputs.end() &&
           &training->second != &input)
    run.declared = declared_labels(
        InputFeed::declaration_of(*training->second.instance, training->second.options(run.manifest.run.seed)));
  if (build_model(run, input, problems)) check_predict_keys(run, problems);
}

void build_for_mode(PreparedRun& run, Diagnostics& problems) {
  switch (run.manifest.run.mode) {
    case RunMode::kEvaluate: return build_evaluations(run, problems);
    case RunMode::kContinuousEval: return build_continuous_eval(run, problems);
    case RunMode::kPredict: return build_prediction(run, problems);
    case RunMode::kExport: return build_exports(run, problems);
    default: return build_training(run, problems);
  }
}

// A missing checkpoint may be the reason why an input or the model lacks something. It comes first, since it is at the
// manifest as a whole.
void add_missing_checkpoint(const PreparedRun& run, Diagnostics& problems) {
  const bool known = run.schema.learned() != nullptr;
  try {
    check_checkpoint(run.checkpoint_place(), run.checkpoint_choice());
  } catch (const Error& e) {
    problems.add({run.manifest.file, 0, 0},
                 (known ? "" : "nothing is known of the training's columns and classes: ") + std::string(e.message()),
                 known ? "" : "train first");
  }
}

}  // namespace

void build_scaffold(PreparedRun& run, Diagnostics& problems) {
  const std::size_t before = problems.size();
  build_for_mode(run, problems);
  if (problems.size() != before && !run.is_training()) add_missing_checkpoint(run, problems);
}

}  // namespace belay::runtime
