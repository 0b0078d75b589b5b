// SPDX-License-Identifier: Apache-2.0
// The evaluations of a ManifestRun: those between two steps, those of a checkpoint, and the one at the end.
#include <algorithm>

#include "runtime/checkpoint/best_checkpoints.h"
#include "runtime/checkpoint/run_lock.h"
#include "runtime/estimator/input_checks.h"
#include "runtime/estimator/known_evaluations.h"
#include "runtime/estimator/manifest_run.h"
#include "runtime/estimator/metrics_line.h"
#include "runtime/estimator/model_metrics.h"
#include "runtime/estimator/monitored_training_session.h"
#include "runtime/estimator/plugin_problem.h"
#include "runtime/loader/load_error.h"  // at_text
#include "runtime/monitored/fingerprint.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

constexpr const char* kEvalNeeds =
    "an evaluation input needs the features and labels of [input.train], with the same widths";

bool shows_evaluations_in_its_end(const ResolvedPlugin& hook) { return hook.info.name == "prometheus"; }

}  // namespace

// Before the other hooks: they see what it restores.
void ManifestRun::make_evals() {
  if (!trains(manifest_.run.mode) || eval_inputs(manifest_).empty()) return;
  EvalWhileTrainingOptions options;
  options.settings = manifest_.eval;
  options.keep_going = [this] { return keep_going(); };
  const bool keeps_best = manifest_.checkpoint.keep_best > 0 && !manifest_.run.dir.empty();
  options.left_open = [this] { return host_.attempt() > 1 && !host_.had_finished(); };
  if (keeps_best) {
    options.note_end = [this](std::int64_t step) {
      host_.saver()->note_while_ending(EvalRoles::kHookName, EvalRoles::kEndedAt, step);
    };
    options.best_metric = manifest_.checkpoint.best_metric;
    options.note_best = [this](std::int64_t step, double value) {
      host_.saver()->note_evaluation(step, value, [this](VariableStore& trained) { return evals_->has_seen(trained); });
    };
  }
  const bool exports = exporters_ != nullptr && exporters_->wants_evaluations();
  if (exports) {
    options.best_metric = manifest_.checkpoint.best_metric;
    options.evaluated = [this](VariableStore& trained, std::int64_t step, std::optional<double> value) {
      exporters_->evaluated(trained, step, value);
    };
  }
  const bool shown = std::ranges::any_of(plugins_.found().hooks, shows_evaluations_in_its_end);
  options.shown_in_end = shown;
  if (shown && !manifest_.run.dir.empty() && saves_by_itself(manifest_.checkpoint))
    options.save_before_end = [this] {
      if (host_.saver() != nullptr) host_.saver()->save_requested_by_hook();
    };
  evals_.emplace(host_.environment(), std::move(options));
  if (keeps_best || exports || shown || evals_->scheduled()) {
    training_.add_hook(EvalRoles::kHookName, evals_->hook());
  } else {
    evals_.reset();
  }
}

void ManifestRun::build_evaluations(Diagnostics& problems) {
  for (const std::string& name : eval_inputs(manifest_)) {
    RunInput& input = inputs_.at(name);
    if (!open(input, problems) || !check_eval_input(input, problems)) continue;
    try {
      build_evaluation(input, problems);
    } catch (const Error& e) {
      if (!is_of_manifest(e)) throw;
      add_evaluation_problem(input, e, problems);
    }
  }
}

void ManifestRun::build_evaluation(RunInput& input, Diagnostics& problems) {
  EvaluationOptions options;
  options.batches = manifest_.eval.batches;
  if (const std::int64_t most = options_.most_eval_batches; most != 0)
    options.batches = options.batches == 0 ? most : std::min(options.batches, most);
  options.on_batch = [this] { progress_(); };
  options.running = &evaluating_;
  options.add_metrics = [this](NodeGraph& graph, ModelOutputs& outputs) {
    add_metrics(graph, manifest_.metrics, outputs);
  };
  options.add_hooks = [this](SessionHost& session, const ModelOutputs& outputs) {
    add_model_hooks(session, plugins_, *model_instance_, outputs);
  };
  evaluations_.push_back(std::make_unique<Evaluation>(host_, *ops_, *model_instance_, input, std::move(options)));
  const Evaluation& built = *evaluations_.back();
  for (const std::string& metric : built.metric_names()) eval_metrics_.push_back(input.name + "/" + metric);
  for (const std::string& metric : built.matrix_names()) eval_matrices_.push_back(input.name + "/" + metric);
  if (trains(manifest_.run.mode))
    check_variables({input.name, manifest_.inputs.at(input.name)}, built.graph(), model_.graph, kEvalNeeds, problems);
}

// At the place of [[metrics]] that the message begins with, else at the input: the model was built on another one.
void ManifestRun::add_evaluation_problem(const RunInput& input, const Error& e, Diagnostics& problems) const {
  const std::string message(e.message());
  for (const MetricSection& m : manifest_.metrics)
    for (const Location& at : {m.labels.at, m.predictions.at, m.values.at, m.weights.at, m.name_at, m.at})
      if (const std::string place = at_text(at); !place.empty() && message.starts_with(place))
        return problems.add(at, message.substr(place.size()));
  if (message.find(" brings a hook: ") != message.npos) return add_plugin_problem(*manifest_.model, e, problems);
  problems.add(manifest_.inputs.at(input.name).plugin_at, "on [input." + input.name + "]: " + message,
               "an evaluation input needs the features and labels of [input.train]");
}

// What would fail in the first evaluation, or never come back from it.
bool ManifestRun::check_eval_input(const RunInput& input, Diagnostics& problems) {
  const InputSection& section = manifest_.inputs.at(input.name);
  if (manifest_.eval.batches == 0 && never_ends(plugins_.found().inputs.at(input.name), section))
    problems.add(section.plugin_at, "[input." + input.name + "] never ends, so an evaluation on it would not either",
                 "add epochs = 1, or set batches in [eval]");
  const std::size_t before = problems.size();
  const ResolvedPlugin* training = plugins_.training_input(manifest_);
  if (training != nullptr)
    check_held_out({input.name, section}, plugins_.found().inputs.at(input.name), *training, problems);
  return problems.size() == before;
}

// A name that no evaluation has would show in the first one only.
void ManifestRun::check_best_metric(Diagnostics& problems) const {
  const std::string& wanted = manifest_.checkpoint.best_metric;
  const std::vector<std::string>& there = eval_metrics_;
  if (!wants_best_metric() || std::find(there.begin(), there.end(), wanted) != there.end()) return;
  if (evaluations_.size() != eval_inputs(manifest_).size()) return;  // that one could not be built is a problem already
  const char* key = manifest_.places.contains("checkpoint.best_metric") ? "best_metric" : "keep_best";
  if (std::find(eval_matrices_.begin(), eval_matrices_.end(), wanted) != eval_matrices_.end())
    return problems.add(manifest_.at("checkpoint." + std::string(key)),
                        "the best checkpoints are those by " + double_quoted(wanted) + ", which is a matrix, no number",
                        "there are: " + joined(there));
  const std::string near = nearest(wanted, there);
  problems.add(manifest_.at("checkpoint." + std::string(key)),
               "the best checkpoints are those by " + double_quoted(wanted) + ", which no evaluation has",
               near.empty() ? "there are: " + joined(there) : "did you mean " + double_quoted(near) + "?");
}

// ---- hooks that look at evaluations ----

std::string ManifestRun::about_evaluations(const std::string& message) const {
  for (const std::string& matrix : eval_matrices_)
    if (message.find(single_quoted(matrix)) != message.npos)
      return "; the metric is a matrix, no number: it is in the events only";
  for (const std::string& name : eval_inputs(manifest_)) {
    if (message.find("the graph has no '" + name + "/") == message.npos) continue;
    if (!evals_)
      return "; nothing is evaluated between two steps: set every_steps, every_secs or at_checkpoint in [eval]";
    if (message.find("did you mean") == message.npos) return "; there are: " + joined(eval_metrics_);
  }
  return "";
}

void ManifestRun::check_hooks(Diagnostics& problems) const {
  const Manifest uses = this->uses();
  const bool restores = manifest_.checkpoint.keep_best > 0 && !manifest_.run.dir.empty();
  for (const PluginUse& hook : uses.hooks) {
    if (hook.plugin == "restore_best" && !restores)
      problems.add(hook.plugin_at, "restore_best has nothing to restore: the run keeps no best checkpoints",
                   manifest_.run.dir.empty()
                       ? "give the run a directory (run.dir), and set keep_best = 1 in [checkpoint]"
                       : "set keep_best = 1 in [checkpoint]");
    if (!evals_ || evals_->scheduled() || hook.plugin == "prometheus") continue;
    for (const PluginOption& option : hook.options)
      if (const auto* text = std::get_if<std::string>(&option.value);
          text != nullptr && std::find(eval_metrics_.begin(), eval_metrics_.end(), *text) != eval_metrics_.end())
        problems.add(option.value_at,
                     "no evaluation is made between two steps, so " + double_quoted(*text) + " never has a value here",
                     "set every_steps, every_secs or at_checkpoint in [eval]");
  }
}

// What the results depend on, besides the weights: what the manifest says, the files of the evaluation inputs, and the
// program. Empty: they are not kept.
std::string ManifestRun::evaluations_key() const {
  const bool exports = exporters_ != nullptr && exporters_->wants_evaluations();
  if (trained_ == nullptr || !host_.has_directory() || exports || eval_inputs(manifest_).empty()) return "";
  std::string circumstances = resume_.manifest_to_keep();
  for (const std::string& name : eval_inputs(manifest_))
    circumstances +=
        data_file_lines(data_files(host_.files(), "input." + name, plugins_.found().inputs.at(name), false));
  const Fingerprint program = fingerprint_of(host_.environment(), plugins_.registry());
  for (const std::string* part : {&program.isa, &program.binary, &program.precision, &program.onednn})
    circumstances += *part + "\n";
  circumstances += std::to_string(program.threads);
  for (const auto& [plugin, build] : program.plugins) circumstances += "\n" + plugin + " " + build;
  return runtime::evaluations_key(*trained_, circumstances);
}

std::vector<EvaluatedInput> ManifestRun::evaluate_at_end() {
  if (trained_ == nullptr) return {};
  const std::string key = evaluations_key();
  if (!key.empty() && !made_steps_)
    if (std::optional<std::vector<EvaluatedInput>> known = read_evaluations(host_.directory(), key)) {
      host_.log().info("", "nothing was trained, and these weights have been evaluated: what was found then follows");
      return std::move(*known);
    }
  std::vector<EvaluatedInput> results = evaluate_trained();
  if (key.empty() || !keep_going() || results.size() != eval_inputs(manifest_).size()) return results;
  try {
    keep_evaluations(host_.directory(), key, results);
  } catch (const RunInUse&) {
    throw;
  } catch (const Error& e) {
    host_.log().warning("", std::string("the evaluation is made again at the next start: ") + e.what());
  }
  return results;
}

std::vector<EvaluatedInput> ManifestRun::evaluate_trained() {
  std::vector<EvaluatedInput> results;
  if (evals_) {
    evals_->at_end(*trained_, trained_step_);
    for (const std::string& name : eval_inputs(manifest_))
      if (const EvalResult* last = evals_->last(name); last != nullptr && last->global_step == trained_step_)
        results.push_back({name, *last, true});
    return results;
  }
  for (const std::unique_ptr<Evaluation>& evaluation : evaluations_) {
    const EvalResult& result = evaluation->run(*trained_, trained_step_, [this] { return keep_going(); });
    results.push_back({evaluation->name(), result});
    append_metrics_line(host_, evaluation->name(), result);
    // A folder of its own is a run of its own for TensorBoard: a late evaluation must not erase points of the training.
    evaluation->host().open_events();
    if (EventWriter* events = evaluation->host().events()) {
      evaluation->add_events(*events);
      events->flush();
    }
  }
  return results;
}

}  // namespace belay::runtime
