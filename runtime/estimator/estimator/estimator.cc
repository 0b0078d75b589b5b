// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/estimator/estimator.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "belay/ops/summaries.h"
#include "runtime/checkpoint/directory/new_checkpoints.h"
#include "runtime/estimator/estimator/estimator_evaluation.h"
#include "runtime/platform/text/fixed_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr const char* kSaverHook = "checkpoint_saver";

bool saves(const std::vector<OwnHook>& hooks) {
  return std::any_of(hooks.begin(), hooks.end(),
                     [](const OwnHook& hook) { return hook.plugin && hook.plugin->plugin == kSaverHook; });
}

void append(std::vector<OwnHook>& to, const std::vector<OwnHook>& hooks) {
  to.insert(to.end(), hooks.begin(), hooks.end());
}

// Appends a hook of the Estimator. If the program's hooks have the name already, it gets a number.
void append_default(std::vector<OwnHook>& to, const std::string& plugin,
                    const std::vector<std::pair<std::string, OptionValue>>& options) {
  std::string name = plugin;
  const auto taken = [&] {
    return std::any_of(to.begin(), to.end(), [&](const OwnHook& hook) { return hook.name == name; });
  };
  for (int i = 1; taken(); ++i) name = fmt::format("{}_{}", plugin, i);
  to.push_back(plugin_hook(plugin, options, name));
}

// Adds the summary "loss", unless the model has one of this name.
void add_loss_summary(const NodeGraph& graph, const Output& loss) {
  for (const Port& port : graph.collection(collections::kSummaries)) {
    const Node& node = graph.node(port.node);
    if (node.op->name == "ScalarSummary" && node.attrs.text("tag") == "loss") return;
  }
  ops::scalar_summary("loss", loss, "loss_summary");
}

// Calls `use` with the newest checkpoint; returns none if the directory has none. RestoreError if there are checkpoints
// and none can be read.
std::optional<UsedCheckpoint> newest_used_checkpoint(
    const EstimatorSettings& settings, const std::function<void(const CheckpointReader&)>& use = [](const auto&) {}) {
  const CheckpointPlace place = settings.checkpoints();
  if (!has_checkpoint(place, {})) return std::nullopt;
  return with_checkpoint(place, {}, use);
}

// ---- a training

void check_may_train(const RunConfig& c, const TrainOptions& options) {
  if (c.task_type() == "evaluator" || c.task_type() == "ps")
    fail(Code::kInvalidArgument, "[B5052] a task of type " + c.task_type() + " does not train; use train_and_evaluate");
  if (c.num_worker_replicas() + c.num_ps_replicas() > 1)
    fail(Code::kFailedPrecondition,
         fmt::format("[B5052] an Estimator trains in one process; its config is of a cluster of {} tasks",
                     c.num_worker_replicas() + c.num_ps_replicas()));
  if (options.steps && options.max_steps)
    fail(Code::kInvalidArgument, "[B5052] steps and max_steps are both given; leave one of them out");
  need_above_0("steps", options.steps);
  need_above_0("max_steps", options.max_steps);
}

// Returns the hooks in this order: the input's, the caller's, the Estimator's, the model's.
std::vector<OwnHook> training_hooks(const EstimatorModel& model, const TrainOptions& options, std::int64_t trained) {
  std::vector<OwnHook> hooks = model.input_hooks();
  append(hooks, options.hooks);
  // Without a checkpoint the step at which the model starts is not known. With a checkpoint, this call must not take
  // over a target that an earlier call did not reach.
  if (options.steps && trained < 0) append_default(hooks, "stop_at_step", {{"num_steps", *options.steps}});
  if (options.steps && trained >= 0) append_default(hooks, "stop_at_step", {{"last_step", trained + *options.steps}});
  if (options.max_steps) append_default(hooks, "stop_at_step", {{"last_step", *options.max_steps}});
  append_default(hooks, "nan_tensor", {});
  if (const auto every = model.run().settings().options.config.options().log_step_count_steps)
    append_default(hooks, "logging_tensor",
                   {{"tensors", std::vector<std::string>{"loss", "global_step"}}, {"every_n_iter", *every}});
  append(hooks, model.pieces().training_hooks);
  return hooks;
}

// Returns the saving hook, unless the config switches it off.
std::vector<OwnHook> saver_hook(const RunConfig& c) {
  std::vector<std::pair<std::string, OptionValue>> periods;
  if (c.save_checkpoints_steps().value_or(0) > 0) periods.emplace_back("save_steps", *c.save_checkpoints_steps());
  if (c.save_checkpoints_secs().value_or(0) > 0) periods.emplace_back("save_secs", *c.save_checkpoints_secs());
  if (periods.empty()) return {};
  return {plugin_hook(kSaverHook, periods)};
}

// `trained`: the step of the newest checkpoint; -1: there is none.
TrainingSessionSetup session_options(const EstimatorModel& model, const TrainOptions& options, std::int64_t trained) {
  const EstimatorOptions& of_estimator = model.run().settings().options;
  const RunConfigOptions& c = of_estimator.config.options();
  TrainingSessionSetup o;
  o.scaffold = model.pieces().scaffold;
  o.initial_values = model.initial_values();
  o.saver = of_estimator.saver;
  o.max_wait_secs = c.session_creation_timeout_secs.value_or(o.max_wait_secs);
  o.save_graph_def = c.checkpoint_save_graph_def;
  // They run only if there is no checkpoint.
  if (of_estimator.warm_start_from) o.init_fns.push_back(*of_estimator.warm_start_from);
  o.hooks = training_hooks(model, options, trained);
  const std::vector<OwnHook>& chief = model.pieces().training_chief_hooks;
  if (!saves(o.hooks) && !saves(chief)) o.chief_only_hooks = saver_hook(of_estimator.config);
  append(o.chief_only_hooks, chief);
  if (!options.saving_listeners.empty() && !saves(o.hooks) && !saves(o.chief_only_hooks))
    fail(Code::kInvalidArgument,
         "[B5052] saving_listeners are given, and nothing saves: give the config a period of checkpoints, or the hook "
         "checkpoint_saver");
  append(o.hooks, options.saving_listeners);
  return o;
}

// Runs the steps. Returns the loss of the last one; none: there was no step.
std::optional<double> run_steps(MonitoredSession& session, const EstimatorModel& model,
                                InMemoryEvaluations& evaluations) {
  std::vector<FetchRef> wanted{model.pieces().train_op, model.pieces().loss};
  wanted.insert(wanted.end(), model.batch().begin(), model.batch().end());
  FetchSet fetches(wanted);
  RunCall call;
  call.fetches = &fetches;
  std::optional<double> loss;
  std::shared_ptr<VariableStore> trained;
  session.scope([&] {
    const KeptStore kept(session, trained);
    evaluations.at_start(session);
    while (!session.should_stop()) {
      const Run done = session.run(call);
      loss = TensorView(done.result(fetches, 1)).number(0);
      evaluations.at_boundary(session);
    }
  });
  if (trained != nullptr) evaluations.at_end(*trained, session.global_step());
  return loss;
}

// Notes the end of a training that an earlier attempt completed without that note.
void note_finished(const EstimatorSettings& settings, std::int64_t step) {
  EstimatorRun run(settings, Mode::kTrain, "");
  run.host().take_directory();
  run.host().keep_directory();
  run.host().note_finished(step);
}

}  // namespace

void train_estimator(const EstimatorSettings& settings, const InputFn& input, const TrainOptions& options,
                     bool finishes_run) {
  check_may_train(settings.options.config, options);
  // A checkpoint that cannot be read is an error here; without a checkpoint the step is 0.
  const std::optional<UsedCheckpoint> newest = newest_used_checkpoint(settings);
  const std::int64_t trained = newest ? newest->global_step : -1;
  if (options.max_steps && *options.max_steps <= trained) {
    settings.platform.log.info(
        "", fmt::format("max_steps = {}, and the model is at step {}: nothing to train", *options.max_steps, trained));
    if (finishes_run && !run_finished(settings.platform.files, settings.model_dir)) note_finished(settings, trained);
    return;
  }
  check_hooks("train's hooks", options.hooks);
  check_hooks("saving_listeners", options.saving_listeners);
  check_evaluators(options.evaluators);

  EstimatorRun run(settings, Mode::kTrain, "");
  EstimatorModel model(run, Mode::kTrain, input);
  add_loss_summary(model.graph(), model.pieces().loss);
  InMemoryEvaluations evaluations(model, options.evaluators);
  TrainingSessionSetup of_session = session_options(model, options, trained);
  const std::vector<OwnHook> roles = evaluations.role_hooks();
  of_session.chief_only_hooks.insert(of_session.chief_only_hooks.begin(), roles.begin(), roles.end());
  MonitoredTrainingSession session(run.host(), run.plugins(), model.graph(), of_session);
  const std::optional<double> loss = run_steps(*session, model, evaluations);
  RunHost& host = run.host();
  if (finishes_run && host.saver() != nullptr && host.saver()->save_error().empty())
    host.note_finished(session->global_step());
  if (loss) {
    run.host().log().info("", "the loss of the last step is " + fixed_text(*loss, 6));
  } else {
    run.host().log().warning("", "the training made no step: the input is empty, or a hook stopped it at once");
  }
}

namespace {

void read_trained(const EstimatorSettings& settings, const std::function<void(const CheckpointReader&)>& use) {
  if (!newest_used_checkpoint(settings, use))
    fail(Code::kNotFound, "[B5042] there is no trained model in '" + escaped(settings.model_dir) + "'; train it first");
}

std::vector<std::string> variable_names(const EstimatorSettings& settings) {
  std::vector<std::string> names;
  read_trained(settings, [&](const CheckpointReader& checkpoint) {
    names.clear();
    for (const TensorInfo& t : checkpoint.tensors()) names.push_back(t.name);
  });
  return names;
}

Tensor variable_value(const EstimatorSettings& settings, const std::string& name) {
  Tensor value;
  read_trained(settings, [&](const CheckpointReader& checkpoint) {
    std::vector<std::string> names;
    const std::vector<TensorInfo> all = checkpoint.tensors();
    for (const TensorInfo& t : all) names.push_back(t.name);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      fail(Code::kNotFound, "[B4022] the checkpoint has no variable '" + name + "'" + did_you_mean(name, names));
    const TensorInfo& info = all[static_cast<std::size_t>(found - names.begin())];
    EstimatorRun run(settings, Mode::kPredict, "");
    value = Tensor(info.dtype, info.dims);
    checkpoint.read(run.saver(), {{name, value.view()}});
  });
  return value;
}

EvalMetrics evaluate(const EstimatorSettings& settings, const InputFn& input, const EvaluateOptions& options,
                     const std::string& events_dir) {
  check_hooks("evaluate's hooks", options.hooks);
  EstimatorEvaluation::Options what{.hooks = options.hooks};
  what.hooks.push_back(stop_after(options.steps));
  EstimatorRun run(settings, Mode::kEval, events_dir);
  check_system(run.host());
  run.choose_checkpoint(options.checkpoint_path);
  return EstimatorEvaluation(run, input, std::move(what)).run_restored();
}

}  // namespace
}  // namespace belay::runtime

namespace belay {

Estimator::Insides::Insides(ModelFn model, runtime::EstimatorSetup setup)
    : settings(std::make_shared<runtime::EstimatorSettings>(std::move(model), std::move(setup))) {}

Estimator::Estimator(std::unique_ptr<Insides> insides) : insides_(std::move(insides)) {}
Estimator::~Estimator() = default;

Estimator& Estimator::train(const InputFn& input, const TrainOptions& options) {
  runtime::train_estimator(*insides_->settings, input, options, false);
  return *this;
}

EvalMetrics Estimator::evaluate(const InputFn& input, const EvaluateOptions& options) {
  return runtime::evaluate(*insides_->settings, input, options, eval_dir(options.name));
}

EstimatorPredictions Estimator::predict(const InputFn& input, const PredictArguments& options) {
  return EstimatorPredictions(std::make_unique<EstimatorPredictions::Insides>(
      EstimatorPredictions::Insides{insides_->settings, input, options}));
}

const std::string& Estimator::model_dir() const noexcept { return insides_->settings->model_dir; }
std::string Estimator::eval_dir(const std::string& name) const {
  return model_dir() + "/" + runtime::eval_folder(name);
}
const RunConfig& Estimator::config() const noexcept { return insides_->settings->options.config; }
const Params& Estimator::params() const noexcept { return insides_->settings->options.params; }

std::string Estimator::latest_checkpoint() const {
  const std::optional<runtime::UsedCheckpoint> newest = runtime::newest_used_checkpoint(*insides_->settings);
  return newest ? newest->path : "";
}

std::vector<std::string> Estimator::variable_names() const { return runtime::variable_names(*insides_->settings); }

Tensor Estimator::variable_value(const std::string& name) const {
  return runtime::variable_value(*insides_->settings, name);
}

PluginUse warm_start(const std::string& from, const std::vector<std::string>& vars,
                     const std::map<std::string, std::string>& names) {
  std::vector<std::pair<std::string, runtime::OptionValue>> options{{"from", std::filesystem::absolute(from).string()}};
  if (!vars.empty()) options.emplace_back("vars", vars);
  for (const auto& [variable, source] : names) options.emplace_back("names." + variable, source);
  PluginUse use = *plugin_hook("warm_start", options).plugin;
  use.at.file = use.plugin_at.file = "warm_start";
  return use;
}

}  // namespace belay
