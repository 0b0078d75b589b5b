// SPDX-License-Identifier: Apache-2.0
// The modes of a ManifestRun that read checkpoints and train nothing: evaluate, continuous_eval, predict.
#include "runtime/estimator/manifest_run.h"
#include "runtime/estimator/monitored_training_session.h"
#include "runtime/platform/text.h"

namespace belay::runtime {

CheckpointPlace ManifestRun::checkpoint_place() const { return {host_.files(), host_.log(), manifest_.run.dir}; }

CheckpointChoice ManifestRun::checkpoint_choice() const {
  CheckpointChoice choice = parse_checkpoint_choice(manifest_.run.checkpoint);
  if (choice.kind == CheckpointChoice::Kind::kPath && !choice.path.starts_with('/'))
    choice.path = manifest_.directories.at(manifest_.at("run.checkpoint")) + "/" + choice.path;
  return choice;
}

CheckpointResult ManifestRun::evaluate_checkpoint(const std::function<void()>& progress) {
  progress_ = progress;
  VariableStore store;
  return runtime::evaluate_checkpoint(
      checkpoint_place(), checkpoint_choice(), host_.codec(), evaluations_, [this] { return keep_going(); }, store);
}

void ManifestRun::take_schema_of(const std::string& checkpoint) {
  if (!host_.files().exists(checkpoint)) return;  // it is skipped
  const bool is_first = !schema_.was_read();
  if (is_first)
    schema_.read(checkpoint_place(), {.kind = CheckpointChoice::Kind::kPath, .path = checkpoint});
  else if (!schema_.read_other(checkpoint_place(), checkpoint))
    return;
  else
    host_.log().info("",
                     escaped(checkpoint) + " is of a training that learned something else: the inputs are opened anew");
  Diagnostics problems;
  evaluations_.clear();
  exporters_.reset();
  export_graph_.reset();
  eval_metrics_.clear();
  eval_matrices_.clear();
  if (const std::optional<TrainedOptions> trained = schema_.trained_options()) {
    plugins_.find_inputs(uses(), problems, *trained);
    warn_of_other_options();
  }
  for (const auto& [name, found] : plugins_.found().inputs) {
    RunInput& input = inputs_.at(name);
    input.feed.reset();
    input.instance = &plugins_.create(plugins_.loaded(found), input.monitor);
  }
  make_exporters();
  if (problems.empty()) build_scaffold(problems);
  std::string text;
  for (const Diagnostic& problem : problems.sorted())
    text += "; " + problem.message + (problem.help.empty() ? "" : "; " + problem.help);
  if (!text.empty())
    fail(Code::kInvalidArgument, "the inputs do not fit the training of " + escaped(checkpoint) + text);
}

CheckpointResult ManifestRun::evaluate_repeatedly(const std::function<void()>& progress,
                                                  const std::function<void(const CheckpointResult&)>& on_result) {
  progress_ = progress;
  ContinuousEvalOptions options;
  options.settings = manifest_.eval;
  options.max_steps = manifest_.run.max_steps;
  options.keep_going = [this] { return keep_going(); };
  options.on_look = progress;
  options.on_checkpoint = [this](const std::string& checkpoint) { take_schema_of(checkpoint); };
  options.on_result = on_result;
  if (exporters_ != nullptr)
    options.exports = [this](VariableStore& variables, const CheckpointResult& result) {
      export_evaluated(variables, result);
    };
  return continuous_eval(host_, checkpoint_place(), evaluations_, options);
}

PredictionSource ManifestRun::prediction_source() {
  return {host_,
          *ops_,
          *model_instance_,
          inputs_.at(predict_input(manifest_)).feed,
          declared_,
          checkpoint_place(),
          checkpoint_choice(),
          [this](SessionHost& session, const ModelOutputs& outputs) {
            add_model_hooks(session, plugins_, *model_instance_, outputs);
          },
          schema_.class_names()};
}

Predicted ManifestRun::predict(PredictionWriter& writer, const std::function<void()>& progress) {
  return runtime::predict(prediction_source(), manifest_.predict.keys, writer, [&] {
    progress();
    return keep_going();
  });
}

UsedCheckpoint ManifestRun::sample(const std::function<bool(std::string_view)>& deliver) {
  const PredictSettings& settings = manifest_.predict;
  return runtime::sample(prediction_source(),
                         {.prompt = settings.prompt,
                          .length = settings.length,
                          .temperature = settings.temperature,
                          .seed = static_cast<std::uint64_t>(settings.seed)},
                         deliver);
}

}  // namespace belay::runtime
