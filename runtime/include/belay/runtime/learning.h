// SPDX-License-Identifier: Apache-2.0
// TensorFlow's slim.learning: a train operation made piece by piece, and the loop that runs it.
//
//   belay::OwnedGraph graph(belay::default_plugins());
//   const Output loss = ...;
//   const Output train_op = belay::create_train_op(graph, loss, {.optimizer = {.name = "momentum"}});
//   const double last = belay::train(graph, train_op, {.logdir = "/tmp/run", .number_of_steps = 1000});
//
// Thin functions: create_train_op puts together what OwnedGraph::minimize does in one go, with the steps between
// gradients and updates in reach; train is a loop over MonitoredTrainingSession, and what that promises holds here.
// evaluation_loop is slim.evaluation's.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/runtime/graph.h"
#include "belay/runtime/training_session.h"

namespace belay {

// A gradient and the variable that it is for. An empty gradient: the loss does not depend on the variable.
struct GradientAndVariable {
  Output gradient;
  Output variable;
};

// Each gradient scaled so that its own norm is at most max_norm, which is above 0. Empty ones stay empty.
std::vector<GradientAndVariable> clip_gradient_norms(std::vector<GradientAndVariable> gradients, double max_norm);

// By how much the gradient of a variable is multiplied: a number, or a scalar of the graph, a variable say.
struct GradientMultiplier {
  std::string variable = {};  // its name, "conv1/kernel"
  double number = 1;
  Output scalar = {};  // in the place of the number
};
// The gradients of these variables, multiplied. INVALID_ARGUMENT: no multipliers, a variable that is named twice or is
// not among the gradients', or whose gradient is empty.
std::vector<GradientAndVariable> multiply_gradients(std::vector<GradientAndVariable> gradients,
                                                    const std::vector<GradientMultiplier>& multipliers);

// Histograms of each gradient and its norm: "gradients/conv1/kernel", "gradient_norms/conv1/kernel".
void add_gradient_summaries(const std::vector<GradientAndVariable>& gradients);

struct TrainOpOptions {
  OptimizerSettings optimizer = {};
  // False: a step leaves the global step as it is (TensorFlow's global_step = None).
  bool counts_steps = true;
  // Operations that are part of each step. Not set: those of the collection "update_ops", the moving averages of batch
  // normalization say; an empty list leaves those out, and a list without one of them is a warning.
  std::optional<std::vector<Output>> update_ops = {};
  // Trainable ones. Empty: all.
  std::vector<Output> variables_to_train = {};
  std::vector<GradientMultiplier> gradient_multipliers = {};
  // Above 0: each gradient is clipped to this norm by itself, behind its multiplier. The optimizer's clip_norm, of all
  // together, comes behind both.
  double clip_gradient_norm = 0;
  bool summarize_gradients = false;
  // A loss that is NaN or infinite ends the step with DIVERGED "LossTensor is inf or nan", before anything is updated.
  bool check_numerics = true;
  LogOptions log = {};
};

// The loss, as a value whose fetching makes a training step; in the collection "train_op". Call it in no scope.
// INVALID_ARGUMENT: what minimize and the functions above refuse, and a variable to train that is not trainable.
Output create_train_op(OwnedGraph& graph, const Output& total_loss, const TrainOpOptions& options = {});

// One step of the loop: what it returns is the loss, and whether the loop ends behind it.
struct LearningStep {
  double loss = std::numeric_limits<double>::quiet_NaN();
  bool stop = false;
};
class LearningLoop;
using TrainStepFn = std::function<LearningStep(LearningLoop&)>;

struct LearningOptions {
  // Checkpoints and events. Empty: nothing is kept; then summary_op and trace_every_n_steps must not be set.
  std::string logdir = {};
  // Instead of train_step below.
  TrainStepFn train_step_fn = {};
  // A line with the loss and the seconds of the step; 0: none.
  std::int64_t log_every_n_steps = 1;
  // The global step at which the loop ends, above 0. Not set: when the input ends or somebody asks to stop.
  std::optional<std::int64_t> number_of_steps = {};
  // init_op, init_fn (behind init_op, where no checkpoint is restored), ready_op, local_init_op, summary_op.
  Scaffold scaffold = {};
  double save_summaries_secs = 600;
  double save_interval_secs = 600;
  // A Chrome trace of a step every so many steps, timeline-STEP.json in logdir: the hook `profiler`.
  std::optional<std::int64_t> trace_every_n_steps = {};
  std::vector<OwnHook> hooks = {};
  // A preemption (ABORTED, UNAVAILABLE) goes on from the last checkpoint, so often in a row, with a pause between.
  std::int64_t max_recoveries = 10;
  std::string saver = "safetensors";
  std::string master = {};  // TrainingSessionOptions.target
  bool is_chief = true;
  int threads = 0;
  std::uint64_t seed = 42;
  LogOptions log = {};
};

// Of one call of train.
class LearningLoop {
 public:
  MonitoredTrainingSession& session() const noexcept { return session_; }
  const Output& train_op() const noexcept { return train_op_; }
  const LearningOptions& options() const noexcept { return options_; }

  // For Belay itself.
  LearningLoop(MonitoredTrainingSession& session, Output train_op, const LearningOptions& options)
      : session_(session), train_op_(train_op), options_(options) {}

 private:
  MonitoredTrainingSession& session_;
  const Output train_op_;
  const LearningOptions& options_;
};

// One run of the train operation with all hooks; stops at number_of_steps. What train_step_fn may call.
LearningStep train_step(LearningLoop& loop);

// Trains until number_of_steps, the end of the input, or a request to stop; saves at the end. Returns the last loss;
// NaN if it made no step, because the training in logdir is at number_of_steps already, say (TensorFlow makes one).
// INVALID_ARGUMENT: no train operation or one without a value, number_of_steps below 1, or logdir missing where it is
// needed. Other errors are the session's: FAILED_PRECONDITION where init_op leaves variables without a value.
double train(OwnedGraph& graph, const Output& train_op, const LearningOptions& options = {});

struct EvaluationLoopOptions {
  // Run num_evals times at each checkpoint, or until the input ends: updates of metrics say. None: final_ops alone.
  std::vector<Output> eval_ops = {};
  Feeds feeds = {};
  std::int64_t num_evals = 1;
  // Fetched once behind them.
  std::vector<Output> final_ops = {};
  // At least so long from one checkpoint to the next.
  double eval_interval_secs = 60;
  // Not set: until timeout_secs, or for ever.
  std::optional<std::int64_t> max_number_of_evaluations = {};
  // How long it waits for another checkpoint.
  std::optional<double> timeout_secs = {};
  // Of the events of hooks; empty: nowhere.
  std::string logdir = {};
  std::vector<OwnHook> hooks = {};
  // init_op and the like; what the checkpoint has is set behind init_op.
  Scaffold scaffold = {};
  std::string saver = "safetensors";
  int threads = 0;
  std::uint64_t seed = 42;
  LogOptions log = {};
};

// Evaluates the checkpoints that another run writes into checkpoint_dir, as they appear, the newest each time. The last
// values of final_ops; none: there was no evaluation. INVALID_ARGUMENT: num_evals below 1.
std::vector<Tensor> evaluation_loop(OwnedGraph& graph, const std::string& checkpoint_dir,
                                    const EvaluationLoopOptions& options);

}  // namespace belay
