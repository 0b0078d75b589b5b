// SPDX-License-Identifier: Apache-2.0
#include "belay/runtime/learning.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>

#include "belay/ops/control.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/ops/statistics.h"
#include "belay/ops/summaries.h"
#include "belay/ops/training.h"
#include "runtime/api/graph.h"
#include "runtime/api/log.h"
#include "runtime/optimizer/optimizer.h"
#include "runtime/platform/text/fixed_text.h"
#include "runtime/platform/text/text.h"
#include "runtime/platform/threads/clock.h"

namespace belay {
namespace {

std::string name_of(const Output& variable) { return variable.graph().node_name_of(variable); }

}  // namespace

// ---- gradients ----

std::vector<GradientAndVariable> clip_gradient_norms(std::vector<GradientAndVariable> gradients, double max_norm) {
  for (GradientAndVariable& g : gradients)
    if (g.gradient) g.gradient = ops::clip_by_norm(g.gradient, max_norm);
  return gradients;
}

namespace {

Output multiplied(const Output& gradient, const GradientMultiplier& by) {
  if (!by.scalar) return gradient * by.number;
  return gradient * (by.scalar.dtype() == gradient.dtype() ? by.scalar : ops::cast(by.scalar, gradient.dtype()));
}

}  // namespace

std::vector<GradientAndVariable> multiply_gradients(std::vector<GradientAndVariable> gradients,
                                                    const std::vector<GradientMultiplier>& multipliers) {
  if (multipliers.empty()) fail(Code::kInvalidArgument, "[B5055] multiply_gradients: there are no multipliers");
  std::set<std::string> seen;
  for (const GradientMultiplier& m : multipliers) {
    const std::string quoted = "multiply_gradients: the variable " + runtime::double_quoted(m.variable);
    if (!seen.insert(m.variable).second)
      fail(Code::kInvalidArgument, fmt::format("[B5055] {} has two multipliers", quoted));
    const auto found = std::find_if(gradients.begin(), gradients.end(),
                                    [&](const GradientAndVariable& g) { return name_of(g.variable) == m.variable; });
    if (found == gradients.end()) {
      std::vector<std::string> there;
      for (const GradientAndVariable& g : gradients) there.push_back(name_of(g.variable));
      fail(Code::kInvalidArgument,
           fmt::format("[B5055] {} is not among those with gradients: {}", quoted, runtime::joined(there)));
    }
    if (!found->gradient)
      fail(Code::kInvalidArgument, fmt::format("[B5055] {} has no gradient: the loss does not depend on it", quoted));
    found->gradient = multiplied(found->gradient, m);
  }
  return gradients;
}

void add_gradient_summaries(const std::vector<GradientAndVariable>& gradients) {
  for (const GradientAndVariable& g : gradients) {
    if (!g.gradient) continue;
    const std::string name = name_of(g.variable);
    ops::histogram_summary("gradients/" + name, g.gradient);
    ops::scalar_summary("gradient_norms/" + name, ops::global_norm({g.gradient}));
  }
}

// ---- the train operation ----

namespace {

std::vector<Output> variables_of(const OwnedGraph& graph, const TrainOpOptions& options) {
  std::vector<Output> trainable = graph.collection(collections::kTrainableVariables);
  if (options.variables_to_train.empty()) return trainable;
  for (const Output& v : options.variables_to_train) {
    const auto is_it = [&](const Output& t) { return t.raw().node == v.raw().node; };
    if (std::none_of(trainable.begin(), trainable.end(), is_it))
      fail(Code::kInvalidArgument,
           "[B5052] variables_to_train: " + v.text() + " is not a trainable variable of the graph");
  }
  return options.variables_to_train;
}

void warn_of_missing_updates(const OwnedGraph& graph, const TrainOpOptions& options) {
  if (!options.update_ops) return;
  std::vector<std::string> missing;
  for (const Output& update : graph.collection(collections::kUpdateOps)) {
    const auto is_it = [&](const Output& o) { return o.raw().node == update.raw().node; };
    if (std::none_of(options.update_ops->begin(), options.update_ops->end(), is_it)) missing.push_back(update.name());
  }
  if (!missing.empty())
    runtime::make_log(options.log)
        ->warning("", "update_ops leaves out operations of the collection update_ops, which no step runs then: " +
                          runtime::joined(missing));
}

// Multiplies, clips each gradient alone, and summarizes, in the order of slim.
std::vector<runtime::VariableGradient> prepared(const std::vector<runtime::VariableGradient>& computed,
                                                const TrainOpOptions& options) {
  std::vector<GradientAndVariable> gradients;
  for (const runtime::VariableGradient& v : computed) gradients.push_back({v.gradient, v.variable});
  if (!options.gradient_multipliers.empty())
    gradients = multiply_gradients(std::move(gradients), options.gradient_multipliers);
  if (options.clip_gradient_norm > 0) gradients = clip_gradient_norms(std::move(gradients), options.clip_gradient_norm);
  if (options.summarize_gradients) add_gradient_summaries(gradients);
  std::vector<runtime::VariableGradient> out;
  for (const GradientAndVariable& g : gradients) out.push_back({g.variable, g.gradient});
  return out;
}

}  // namespace

Output create_train_op(OwnedGraph& graph, const Output& total_loss, const TrainOpOptions& options) {
  warn_of_missing_updates(graph, options);
  OwnedGraph::Insides& insides = graph.insides();
  const auto use = insides.optimizers.emplace_back(options.optimizer, insides.plugins).use();
  const std::vector<Output> variables = variables_of(graph, options);
  const auto gradients = prepared(runtime::gradients_of_step(graph, total_loss, options.optimizer, variables), options);
  const std::int64_t batches = options.optimizer.accumulate;
  const Output mean = batches > 1 ? ops::mean_over_batches(total_loss, batches, "loss_of_step") : total_loss;
  const Output loss = options.check_numerics ? ops::check_numerics(mean, "LossTensor is inf or nan") : mean;
  std::vector<Output> updates = options.update_ops ? *options.update_ops : graph.collection(collections::kUpdateOps);
  updates.push_back(loss.operation());
  const Output step =
      runtime::update_variables(graph, gradients, use, {.update_ops = updates, .counts = options.counts_steps});
  const auto behind = [&](const Output& train) {
    const auto after = graph.after({train});
    return ops::identity(loss, "train_op");
  };
  const Output train_op = behind(step);
  runtime::NodeGraph& nodes = insides.nodes;
  nodes.successions().move(nodes.resolve(step.raw()), nodes.resolve(train_op.raw()),
                           [&](runtime::Port next) { return nodes.resolve(behind(nodes.output(next)).raw()); });
  nodes.replace_collection(collections::kTrainOp, {nodes.resolve(train_op.raw())});
  return train_op;
}

// ---- the loop ----

namespace {

void check_options(const Output& train_op, const LearningOptions& o) {
  const auto need = [](bool holds, const char* text) {
    if (!holds) fail(Code::kInvalidArgument, std::string("[B5052] train: ") + text);
  };
  need(bool(train_op), "there is no train operation; create_train_op makes one");
  need(!train_op.is_operation(), "the train operation has no value; create_train_op makes one that is the loss");
  need(!o.number_of_steps || *o.number_of_steps > 0, "number_of_steps must be above 0");
  need(!o.logdir.empty() || !o.scaffold.summary_op, "a summary_op needs a logdir, where summaries are written");
  need(!o.logdir.empty() || !o.trace_every_n_steps, "trace_every_n_steps needs a logdir, where traces are written");
}

TrainingSessionOptions options_of_loop(const LearningOptions& o) {
  TrainingSessionOptions s;
  s.checkpoint_dir = o.logdir;
  s.scaffold = o.scaffold;
  s.hooks = o.hooks;
  s.checkpoint.save_secs = o.save_interval_secs;
  s.session.save_summaries_secs = o.save_summaries_secs;
  s.session.max_recoveries = o.max_recoveries;
  s.saver = o.saver;
  s.target = o.master;
  s.is_chief = o.is_chief;
  s.threads = o.threads;
  s.seed = o.seed;
  s.log = o.log;
  if (o.trace_every_n_steps)
    s.chief_only_hooks.push_back(
        plugin_hook("profiler", {{"save_steps", *o.trace_every_n_steps}, {"output_dir", o.logdir}}));
  return s;
}

std::string step_line(std::int64_t step, double loss, double seconds) {
  return fmt::format("global step {}: loss = {} ({} sec/step)", step, runtime::fixed_text(loss, 4),
                     runtime::fixed_text(seconds, 2));
}

}  // namespace

LearningStep train_step(LearningLoop& loop) {
  const RunResult result = loop.session().run({loop.train_op()});
  LearningStep step;
  step.loss = result[0].dtype() == DType::kFloat64 ? result[0].scalar<double>() : result[0].scalar<float>();
  const std::optional<std::int64_t> last = loop.options().number_of_steps;
  step.stop = last && loop.session().global_step() >= *last;
  return step;
}

double train(OwnedGraph& graph, const Output& train_op, const LearningOptions& options) {
  check_options(train_op, options);
  const auto log = runtime::make_log(options.log);
  MonitoredTrainingSession session(graph, options_of_loop(options));
  LearningLoop loop(session, train_op, options);
  const TrainStepFn step_fn = options.train_step_fn ? options.train_step_fn : TrainStepFn(train_step);
  runtime::Clock& clock = runtime::system_clock();
  double loss = std::numeric_limits<double>::quiet_NaN();
  session.scope([&] {
    const auto at_end = [&] { return options.number_of_steps && session.global_step() >= *options.number_of_steps; };
    for (bool stop = at_end(); !stop && !session.should_stop();) {
      const std::int64_t start = clock.monotonic_ns();
      const LearningStep step = step_fn(loop);
      loss = step.loss;
      stop = step.stop;
      const std::int64_t n = session.global_step();
      if (options.log_every_n_steps > 0 && n % options.log_every_n_steps == 0)
        log->info("", step_line(n, loss, static_cast<double>(clock.monotonic_ns() - start) * 1e-9));
    }
  });
  return loss;
}

}  // namespace belay
