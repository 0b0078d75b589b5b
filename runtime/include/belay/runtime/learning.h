// SPDX-License-Identifier: Apache-2.0
// TensorFlow's slim.learning: a train operation made piece by piece, and the loop that runs it.
//
//   belay::OwnedGraph graph(belay::default_plugins());
//   const Output loss = ...;
//   const Output train_op = belay::create_train_op(graph, loss, {.optimizer = {.name = "momentum"}});
//   const double last = belay::train(graph, train_op, {.logdir = "/tmp/run", .number_of_steps = 1000});
//
// These are thin functions. create_train_op does the work of OwnedGraph::minimize, and lets a program add steps
// between gradients and updates. train is a loop over MonitoredTrainingSession and has its guarantees. evaluation_loop
// is slim.evaluation's.
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

// A gradient and its variable. An empty gradient: the loss does not depend on the variable.
struct GradientAndVariable {
  Output gradient;
  Output variable;
};

// Scales each gradient so that its norm is at most max_norm, which must be above 0. Empty ones stay empty.
std::vector<GradientAndVariable> clip_gradient_norms(std::vector<GradientAndVariable> gradients, double max_norm);

// A factor for the gradient of a variable: a number, or a scalar of the graph such as a variable.
struct GradientMultiplier {
  std::string variable = {};  // its name, "conv1/kernel"
  double number = 1;
  Output scalar = {};  // in place of the number
};
// Multiplies the gradients of these variables. INVALID_ARGUMENT: no multipliers, or a variable that is named twice, is
// not among the gradients', or has an empty gradient.
std::vector<GradientAndVariable> multiply_gradients(std::vector<GradientAndVariable> gradients,
                                                    const std::vector<GradientMultiplier>& multipliers);

// Adds histograms of each gradient and its norm: "gradients/conv1/kernel", "gradient_norms/conv1/kernel".
void add_gradient_summaries(const std::vector<GradientAndVariable>& gradients);

struct TrainOpOptions {
  OptimizerSettings optimizer = {};
  // False: a step does not change the global step (TensorFlow's global_step = None).
  bool counts_steps = true;
  // Operations that are part of each step. Not set: those of the collection "update_ops", such as the moving averages
  // of batch normalization. An empty list leaves them out. A list that lacks one of them is a warning.
  std::optional<std::vector<Output>> update_ops = {};
  // The trainable variables to train. Empty: all.
  std::vector<Output> variables_to_train = {};
  std::vector<GradientMultiplier> gradient_multipliers = {};
  // Above 0: each gradient is clipped to this norm by itself, after its multiplier. The optimizer's clip_norm, of all
  // together, comes after both.
  double clip_gradient_norm = 0;
  bool summarize_gradients = false;
  // If true, a loss that is NaN or infinite ends the step with DIVERGED "LossTensor is inf or nan", before any update.
  bool check_numerics = true;
  LogOptions log = {};
};

// Makes the loss into a value whose fetch makes a training step; it is in the collection "train_op". Call it outside
// all scopes. INVALID_ARGUMENT: an error of minimize or of the functions above, or a variable to train that is not
// trainable.
Output create_train_op(OwnedGraph& graph, const Output& total_loss, const TrainOpOptions& options = {});

// The result of one step: the loss, and true if the loop ends after it.
struct LearningStep {
  double loss = std::numeric_limits<double>::quiet_NaN();
  bool stop = false;
};
class LearningLoop;
using TrainStepFn = std::function<LearningStep(LearningLoop&)>;

struct LearningOptions {
  // Directory of checkpoints and events. Empty: nothing is kept; then summary_op and trace_every_n_steps must not be
  // set.
  std::string logdir = {};
  // Replaces train_step below.
  TrainStepFn train_step_fn = {};
  // Period of a log line with the loss and the seconds of the step; 0: none.
  std::int64_t log_every_n_steps = 1;
  // The global step at which the loop ends, above 0. Not set: when the input ends or a stop is requested.
  std::optional<std::int64_t> number_of_steps = {};
  // init_op, init_fn (after init_op, if no checkpoint is restored), ready_op, local_init_op, summary_op.
  Scaffold scaffold = {};
  double save_summaries_secs = 600;
  double save_interval_secs = 600;
  // Period of a Chrome trace of a step, timeline-STEP.json in logdir: the hook `profiler`.
  std::optional<std::int64_t> trace_every_n_steps = {};
  std::vector<OwnHook> hooks = {};
  // Number of recoveries in a row after a preemption (ABORTED, UNAVAILABLE), each from the last checkpoint, with a
  // pause between.
  std::int64_t max_recoveries = 10;
  std::string saver = "safetensors";
  std::string master = {};  // TrainingSessionOptions.target
  bool is_chief = true;
  int threads = 0;
  std::uint64_t seed = 42;
  LogOptions log = {};
};

// The state of one call of train. It is valid for that call.
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

// Makes one run of the train operation with all hooks; stops at number_of_steps. A train_step_fn may call it.
LearningStep train_step(LearningLoop& loop);

// Trains until number_of_steps, the end of the input, or a request to stop; saves at the end. Returns the last loss. It
// is NaN if no step was made, for example because the training in logdir has reached number_of_steps (TensorFlow makes
// one). INVALID_ARGUMENT: no train operation or one without a value, number_of_steps below 1, or a missing logdir that
// is needed. Other errors are the session's. FAILED_PRECONDITION: init_op leaves variables without a value.
double train(OwnedGraph& graph, const Output& train_op, const LearningOptions& options = {});

struct EvaluationLoopOptions {
  // Operations that run num_evals times at each checkpoint, or until the input ends, such as updates of metrics. Empty:
  // only final_ops.
  std::vector<Output> eval_ops = {};
  Feeds feeds = {};
  std::int64_t num_evals = 1;
  // Fetched once after them.
  std::vector<Output> final_ops = {};
  // Shortest time from one checkpoint to the next.
  double eval_interval_secs = 60;
  // If it is not set: until timeout_secs, or without end.
  std::optional<std::int64_t> max_number_of_evaluations = {};
  // How long it waits for another checkpoint.
  std::optional<double> timeout_secs = {};
  // Directory of the events of hooks; empty: none are written.
  std::string logdir = {};
  std::vector<OwnHook> hooks = {};
  // init_op and the others; the checkpoint's values are set after init_op.
  Scaffold scaffold = {};
  std::string saver = "safetensors";
  int threads = 0;
  std::uint64_t seed = 42;
  LogOptions log = {};
};

// Evaluates the checkpoints that another run writes into checkpoint_dir, as they appear, the newest each time. Returns
// the last values of final_ops; empty: there was no evaluation. INVALID_ARGUMENT: num_evals below 1.
std::vector<Tensor> evaluation_loop(OwnedGraph& graph, const std::string& checkpoint_dir,
                                    const EvaluationLoopOptions& options);

}  // namespace belay
