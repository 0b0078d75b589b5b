// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/evaluate.h"

#include <optional>
#include <utility>

#include "runtime/checkpoint/directory/run_lock.h"
#include "runtime/estimator/evaluation/metrics_line.h"
#include "runtime/estimator/resume/data_files.h"
#include "runtime/estimator/run/known_evaluations.h"
#include "runtime/estimator/run/prepared_run.h"
#include "runtime/monitored/run/fingerprint.h"

namespace belay::runtime {

CheckpointResult evaluate_checkpoint(PreparedRun& run, const CheckpointChoice& choice, VariableStore& store) {
  CheckpointResult out;
  out.checkpoint = load_checkpoint(run.checkpoint_place(), choice, run.host.codec(), store);
  for (const std::unique_ptr<Evaluation>& evaluation : run.evaluations.built)
    out.inputs.push_back(
        {evaluation->name(), evaluation->run(store, out.checkpoint.global_step, [&run] { return run.keep_going(); })});
  return out;
}

CheckpointResult evaluate_checkpoint(PreparedRun& run, const std::function<void()>& progress) {
  run.evaluations.progress = progress;
  VariableStore store;
  return evaluate_checkpoint(run, run.checkpoint_choice(), store);
}

// ---- after a training

namespace {

// The results depend on the weights, the manifest, the files of the evaluation inputs, and the program. Empty: they are
// not kept.
std::string key_of(const PreparedRun& run, VariableStore& trained) {
  const std::vector<std::string> inputs = eval_inputs(run.manifest);
  if (!run.host.has_directory() || run.exports.after_evaluations() || inputs.empty()) return "";
  std::string circumstances = run.resume.manifest_to_keep();
  for (const std::string& name : inputs)
    circumstances +=
        data_file_lines(data_files(run.host.files(), "input." + name, run.plugins.found().inputs.at(name), false));
  const Fingerprint program = fingerprint_of(run.host.environment(), run.plugins.registry());
  for (const std::string* part : {&program.isa, &program.binary, &program.precision, &program.onednn})
    circumstances += *part + "\n";
  circumstances += std::to_string(program.threads);
  for (const auto& [plugin, build] : program.plugins) circumstances += "\n" + plugin + " " + build;
  return evaluations_key(trained, circumstances);
}

std::vector<EvaluatedInput> evaluate_trained(PreparedRun& run, VariableStore& trained, std::int64_t step) {
  std::vector<EvaluatedInput> results;
  if (std::optional<EvalWhileTraining>& evals = run.evaluations.while_training) {
    evals->at_end(trained, step);
    for (const std::string& name : eval_inputs(run.manifest))
      if (const EvalResult* last = evals->last(name); last != nullptr && last->global_step == step)
        results.push_back({name, *last, true});
    return results;
  }
  for (const std::unique_ptr<Evaluation>& evaluation : run.evaluations.built) {
    const EvalResult& result = evaluation->run(trained, step, [&run] { return run.keep_going(); });
    results.push_back({evaluation->name(), result});
    append_metrics_line(run.host, evaluation->name(), result);
    // A separate folder is a separate run for TensorBoard: a late evaluation must not erase points of the training.
    evaluation->host().open_events();
    if (EventWriter* events = evaluation->host().events()) {
      evaluation->add_events(*events);
      events->flush();
    }
  }
  return results;
}

}  // namespace

std::vector<EvaluatedInput> evaluate_at_end(PreparedRun& run, const TrainingResult& result) {
  if (result.trained == nullptr) return {};
  const std::string key = key_of(run, *result.trained);
  if (!key.empty() && result.steps == 0)
    if (std::optional<std::vector<EvaluatedInput>> known = read_evaluations(run.host.directory(), key)) {
      run.host.log().info("",
                          "nothing was trained, and these weights have been evaluated: what was found then follows");
      return std::move(*known);
    }
  std::vector<EvaluatedInput> results = evaluate_trained(run, *result.trained, result.global_step);
  if (key.empty() || !run.keep_going() || results.size() != eval_inputs(run.manifest).size()) return results;
  try {
    keep_evaluations(run.host.directory(), key, results);
  } catch (const RunInUse&) {
    throw;
  } catch (const Error& e) {
    run.host.log().warning("", std::string("the evaluation is made again at the next start: ") + e.what());
  }
  return results;
}

}  // namespace belay::runtime
