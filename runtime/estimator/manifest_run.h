// SPDX-License-Identifier: Apache-2.0
// A run as its manifest composes it, stage by stage; each takes what the one before made, and nothing reaches back.
//
//   manifest -> plugins -> scaffold -> session -> hooks
//
//   ManifestRun run(manifest, options, platform, environment, control);
//   run.find_plugins(problems)     // names and options against the notes; no plugin code runs
//   run.take_directory()           // the run directory made, locked, this attempt's mark put into it
//   run.load_plugins()             // libraries, then instances
//   run.build_scaffold(problems)   // inputs opened, graphs built; still nothing to keep
//   run.begin_hooks(problems)      // the names that they look for in the graph
//   run.open_directory()           // from here on it stays
//   run.train(...)                 // mode train: the session with its hooks
//   run.evaluate_at_end()          // one pass over each [input.eval]
//   run.export_at_end()            // [[exporters]] with when = "final"
//
// The modes evaluate, continuous_eval, predict and export use less of it: no optimizer, no hooks, no directory that is
// taken.
//
//   find_plugins, load_plugins, build_scaffold, then evaluate_checkpoint() or evaluate_repeatedly() or predict() or
//   sample() or export_checkpoint()
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "runtime/estimator/continuous_eval.h"
#include "runtime/estimator/evaluate.h"
#include "runtime/estimator/exporters.h"
#include "runtime/estimator/manifest_run_options.h"
#include "runtime/estimator/model_schema.h"
#include "runtime/estimator/predict.h"
#include "runtime/estimator/resume_check.h"
#include "runtime/estimator/run_plugins.h"
#include "runtime/estimator/run_strategy.h"
#include "runtime/estimator/train.h"

namespace belay::runtime {

class ManifestRun {
 public:
  ManifestRun(Manifest manifest, ManifestRunOptions options, const Platform& platform, Environment environment,
              RunControl& control);
  ~ManifestRun();
  ManifestRun(const ManifestRun&) = delete;
  ManifestRun& operator=(const ManifestRun&) = delete;

  // False where a plugin is the trouble (exit status 3 instead of 2); `problems` has all.
  bool find_plugins(Diagnostics& problems);
  // What a run minds before it takes the directory, and `belay check` does not.
  void check_launch(Diagnostics& problems) const { strategy_->check_launch(problems); }
  // RunInUse; PERMISSION_DENIED and others. Until open_directory() the end of the run takes away what this made.
  void take_directory();
  // A warning where the attempt before ended without a word. Changes nothing; for `belay check`.
  void tell_last_attempt() const;
  // With the training that the directory's newest checkpoint is of; behind find_plugins(). Changes nothing, and needs
  // no directory that was taken.
  void compare_with_earlier(Diagnostics& problems);
  // The same of program, processor and plugins, behind load_plugins(): nothing without --exact.
  void compare_fingerprint(Diagnostics& problems) const;
  // LoadError; or an instance's own error. What is wrong with the options of one is in `problems`.
  void load_plugins(Diagnostics& problems);
  // Opens the inputs (the first batch is fetched: an empty input shows) and builds the graphs of the mode. What the
  // manifest names and the graph has not, what an input or the model says of its options, and evaluation inputs that
  // do not fit the training, are in `problems`; other mistakes are thrown.
  void build_scaffold(Diagnostics& problems);
  // Each hook's begin. A name that it looks for in vain is in `problems`; what else it fails with is thrown.
  void begin_hooks(Diagnostics& problems);
  // After take_directory(). PERMISSION_DENIED and others.
  void open_directory();
  // `progress` after every step and every batch of an evaluation, on this thread; of all that follows. `on_session`
  // when there is a session, restored or initialized, before its first step, as TrainingOptions says. Where the
  // directory's lock is lost it fails, and lock_lost() is true.
  TrainingResult train(const std::function<void()>& progress,
                       const std::function<void(const std::string& ends)>& on_session = {});
  // With the variables that the training ended with. Nothing where they are gone, or there is no evaluation input.
  // Where this start made no step, and the one that trained these weights has evaluated them, its results, with a line
  // of the log.
  std::vector<EvaluatedInput> evaluate_at_end();
  // The final exports of a training that ended as it was meant to, with those variables.
  std::vector<WrittenExport> export_at_end();

  // ---- the other modes; CANCELLED where the control stops them
  CheckpointResult evaluate_checkpoint(const std::function<void()>& progress);
  // `on_result` after each checkpoint; then the exports of it, "latest" and "best". The final one is the training's.
  CheckpointResult evaluate_repeatedly(const std::function<void()>& progress,
                                       const std::function<void(const CheckpointResult&)>& on_result);
  Predicted predict(PredictionWriter& writer, const std::function<void()>& progress);
  // With every exporter.
  struct ExportedCheckpoint {
    UsedCheckpoint checkpoint;
    std::vector<WrittenExport> exports;
  };
  ExportedCheckpoint export_checkpoint();
  UsedCheckpoint sample(const std::function<bool(std::string_view)>& deliver);

  RunHost& host() noexcept { return host_; }
  const RunHost& host() const noexcept { return host_; }
  ModelGraph& model() noexcept { return model_; }
  const ModelGraph& model() const noexcept { return model_; }
  const Manifest& manifest() const noexcept { return manifest_; }
  const RunPlugins& plugins() const noexcept { return plugins_; }
  // What the model's training learned of its data; null: it is not known.
  const Schema* schema() const noexcept { return schema_.learned().get(); }
  // By section. Null: it is not there.
  const RunInput* input(const std::string& name) const;
  // Which of the processes that train together this one is, and whether the steps are another run's.
  const RunStrategy& strategy() const noexcept { return *strategy_; }
  // The chief's, if the run ends before it has met the other ranks: they end with the reason, and do not wait.
  void refuse_ranks(const std::string& reason) { strategy_->refuse(reason); }
  // Labels of the hooks that on_error = "disable" took out.
  std::vector<std::string> disabled_hooks() { return training_.hooks().disabled(); }
  // Whether the directory held no checkpoint when it was opened; behind open_directory().
  bool begins_anew() const noexcept { return begins_anew_; }
  // What a plugin is doing at the moment; empty: none. Any thread.
  std::string activity() const;

 private:
  void create_init_fn(const ResolvedPlugin& init_fn, const PluginUse& use, Diagnostics& problems);
  void create_optimizer(const ResolvedPlugins& found,
                        const std::function<void(const PluginUse&, const std::function<void()>&)>& create);
  // False, with a problem, where it does not fit what the manifest says.
  bool open(RunInput& input, Diagnostics& problems);
  void add_missing_checkpoint(Diagnostics& problems) const;
  bool build_model(RunInput& input, Diagnostics& problems);
  void check_cluster(Diagnostics& problems) const;
  // Where several processes were started and nothing joins them: what to say of it. Empty: that is not so.
  std::string apart() const;
  void check_groups(Diagnostics& problems);
  void make_evals();
  void build_training(Diagnostics& problems);
  void build_prediction(Diagnostics& problems);
  void check_predict_keys(Diagnostics& problems) const;
  void make_exporters();
  void build_exports(Diagnostics& problems);
  void build_evaluations(Diagnostics& problems);
  bool build_evaluations_early();
  void build_evaluation(RunInput& input, Diagnostics& problems);
  // False where the evaluation could not be built.
  bool check_eval_input(const RunInput& input, Diagnostics& problems);
  void add_evaluation_problem(const RunInput& input, const Error& e, Diagnostics& problems) const;
  void check_best_metric(Diagnostics& problems) const;
  bool wants_best_metric() const;
  void export_evaluated(VariableStore& variables, const CheckpointResult& result);
  void check_predictions_end(Diagnostics& problems) const;
  void check_predict_input(Diagnostics& problems);
  void check_predict_components(const std::vector<InputComponent>& components, Diagnostics& problems);
  void add_hook_problem(const Error& e, Diagnostics& problems) const;
  // Hooks that would have nothing to look at, or to restore.
  void check_hooks(Diagnostics& problems) const;
  void check_savable(Diagnostics& problems) const;
  // What is to be added to a message that looks for a metric of an evaluation in vain.
  std::string about_evaluations(const std::string& message) const;
  std::string evaluating() const;
  bool keep_going() const { return !host_.control().stopping(); }
  void read_schema();
  void compare_fit(Diagnostics& problems);
  std::string training_plugin() const;
  void warn_of_other_options();
  // Of a checkpoint that appeared: builds the evaluations and exports at the first one, and anew where it is of a
  // training that learned something else. INVALID_ARGUMENT: an input does not fit it.
  void take_schema_of(const std::string& checkpoint);
  CheckpointPlace checkpoint_place() const;
  CheckpointChoice checkpoint_choice() const;
  PredictionSource prediction_source();
  TrainingResult run_training(const TrainingOptions& options);
  std::vector<EvaluatedInput> evaluate_trained();
  std::string evaluations_key() const;
  void write_manifest();
  void start_over();
  void say_new_run();
  Manifest uses() const;

  const std::optional<LaunchedPlace> place_;  // of several processes; none: this one trains alone
  const Manifest manifest_;
  const ManifestRunOptions options_;
  const Environment environment_;
  RunHost host_;
  ResumeCheck resume_;
  std::unique_ptr<OpRegistry> ops_;
  ModelGraph model_;
  RunPlugins plugins_;
  ModelSchema schema_;
  std::map<std::string, RunInput> inputs_;                 // by section
  std::vector<std::unique_ptr<Evaluation>> evaluations_;   // of each evaluation input; empty where `evals_` has them
  std::optional<EvalWhileTraining> evals_;                 // between two steps, or for the list of the best
  std::vector<std::string> eval_metrics_, eval_matrices_;  // "eval/loss", of all evaluation inputs
  std::atomic<const Evaluation*> evaluating_{nullptr};     // that is under way
  std::optional<ModelGraph> export_graph_;                 // of the exporters
  std::unique_ptr<Exporters> exporters_;                   // null: there are none
  SessionHost training_;                                   // its hooks borrow what is above
  PluginInstance* model_instance_ = nullptr;
  std::optional<OptimizerUse> optimizer_;  // of a training
  ScaffoldOptions pieces_;                 // those that the manifest names
  std::vector<DeclaredLabel> declared_;    // of a prediction whose input has no labels: the training's
  std::function<void()> progress_ = [] {};
  std::shared_ptr<VariableStore> trained_;  // that the training ended with
  std::int64_t trained_step_ = -1;
  bool made_steps_ = false;  // this attempt
  bool begins_anew_ = true;
  std::unique_ptr<RunStrategy> strategy_;  // ends before what it works on
};

}  // namespace belay::runtime
