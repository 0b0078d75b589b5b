// SPDX-License-Identifier: Apache-2.0
// A scalar that a hook watches. It is a value of the training step ("loss") at a period of steps, or a metric of the
// evaluation ("eval/accuracy") after each one.
//
//   WatchedMetric metric("eval/loss", every_n_steps, start_from_step);
//   void begin(Graph& graph) override { metric.begin(graph, "my_hook"); }
//   void after_create_session(Session& session) override { metric.session_created(session); }
//   RunArgs before_run(RunContext&) override { return metric.fetches(); }
//   void after_run(RunContext& run, const RunValues& values) override {
//     if (const auto look = metric.look(run.session(), values, host())) act(look->value, look->step);
//   }
//   void save_state(StateWriter& state) const override { metric.save(state, host()); }
//   void load_state(const StateReader& state) override { metric.load(state, host()); }
//
// With the saved state a resumed run looks at the same steps as a run without a stop.
//
// Evaluations between two steps write their metrics into the training graph. The names are eval/loss, eval/accuracy,
// ... for [input.eval] and eval_NAME/... for [input.eval_NAME]. eval/global_step is the step that was evaluated. Before
// the first evaluation they are NaN and -1. So the first run after an evaluation sees it, and the step of the look is
// that of the evaluation. A metric that is NaN in an evaluation is undefined: the first such look is a warning.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "belay/global_step.h"
#include "belay/second_or_step_timer.h"

namespace belay {
inline namespace v0 {

// One watched scalar; a member of a hook, called on the session's thread.
class WatchedMetric {
 public:
  // The value for a hook's decision.
  struct Look {
    // The value of any numeric dtype, as a double; it may be NaN.
    double value;
    // The global step of the value: after the run's update, or that of the evaluation.
    std::int64_t step;
  };

  // `name` is for Graph::find. `every_n_steps` applies to values of the training step; every evaluation is a look.
  // There is no look before the global step `start_from_step`.
  WatchedMetric(std::string name, std::int64_t every_n_steps, std::int64_t start_from_step = 0)
      : name_(std::move(name)), start_from_step_(start_from_step), timer_({}, every_n_steps) {}

  // Call it in Hook::begin. Messages contain `hook`. `if_undefined` ends the warning of an undefined metric. NOT_FOUND,
  // with the nearest name: the graph has no such name. INVALID_ARGUMENT: it is not a scalar number.
  // FAILED_PRECONDITION: there is no global step.
  void begin(const Graph& graph, std::string_view hook,
             std::string_view if_undefined = "this is no improvement and beyond no limit") {
    hook_ = hook, if_undefined_ = if_undefined;
    tensor_ = graph.fetch(graph.find(name_));
    if (tensor_.is_operation() || tensor_.rank() > 0 || tensor_.dtype() == DType::kString)
      fail(Code::kInvalidArgument, hook_ + " watches a scalar number, " + tensor_.text() + " is none");
    step_ = GlobalStep(graph);
    evaluated_.reset();
    if (const Output step = step_of_evaluation(graph)) evaluated_ = graph.fetch<std::int64_t>(step);
  }
  // Call it in each after_create_session. After a recovery to an earlier step it forgets later looks, so repeated steps
  // are looked at again.
  void session_created(const Session& session) {
    step_.forget();
    const std::int64_t step = step_.read(session);
    if (timer_.last_triggered_step() && *timer_.last_triggered_step() > step) timer_.reset();
    if (seen_evaluation_ > step) seen_evaluation_ = kNone;
  }

  // Call it in each before_run: the value and its step, two scalars, in every run.
  RunArgs fetches() const {
    if (evaluated_) return {*evaluated_, tensor_};
    return {step_.fetch(), tensor_};
  }
  // Call it in each after_run: returns the value if it is time to look, else it is empty. Only then it reads the real
  // global step by a raw run.
  std::optional<Look> look(const Session& session, const RunValues& values, const Host& host) {
    if (evaluated_) return look_at_evaluation(values, host);
    const std::int64_t predicted = step_.predicted(values);
    if (predicted < start_from_step_ || !timer_.should_trigger_for_step(predicted, host)) return std::nullopt;
    const std::int64_t step = step_.read(session);
    if (step < start_from_step_ || !timer_.should_trigger_for_step(step, host)) return std::nullopt;
    timer_.update_last_triggered_step(step, host.monotonic());
    return Look{number(values), step};
  }

  // The name for messages: "loss".
  const std::string& name() const noexcept { return name_; }
  // A count for messages: "3 looks", "1 evaluation".
  std::string count_text(std::int64_t n) const {
    return std::to_string(n) + (evaluated_ ? " evaluation" : " look") + (n == 1 ? "" : "s");
  }

  // Call them in save_state and load_state. The keys do not collide with those of Improvement.
  void save(StateWriter& state, const Host& host) const {
    timer_.save(state, host.monotonic());
    if (seen_evaluation_ != kNone) state.put("seen_evaluation", seen_evaluation_);
  }
  void load(const StateReader& state, const Host& host) {
    timer_.load(state, host.monotonic());
    seen_evaluation_ = state.integer("seen_evaluation", kNone);
  }

 private:
  // The graph's value before the first evaluation.
  static constexpr std::int64_t kNone = -1;

  // The step of "eval/accuracy" or "eval_NAME/accuracy"; empty for a value of the training step.
  Output step_of_evaluation(const Graph& graph) const {
    const std::string_view name = name_;
    const std::size_t slash = name.rfind('/');
    if (slash == name.npos) return {};
    const std::string input(name.substr(0, slash));
    if (input != "eval" && input.rfind("eval_", 0) != 0) return {};
    return graph.find_if_exists(input + "/global_step");
  }
  // The first run after an evaluation sees a new step; later runs see the same step again.
  std::optional<Look> look_at_evaluation(const RunValues& values, const Host& host) {
    const std::int64_t step = values[*evaluated_];
    if (step == seen_evaluation_ || step < 0) return std::nullopt;
    seen_evaluation_ = step;
    if (step < start_from_step_) return std::nullopt;
    const Look look{number(values), step};
    if (std::isnan(look.value) && !warned_) {
      host.warning("'" + name_ + "' is undefined (NaN) in the evaluation of step " + std::to_string(step) + ": " +
                   if_undefined_ + " (logged once)");
      warned_ = true;
    }
    return look;
  }
  // Checks the shape in each look, because it may have been unknown while the graph was built.
  double number(const RunValues& values) const {
    const TensorView value = values[tensor_];
    if (value.size() != 1)
      fail(Code::kInvalidArgument,
           hook_ + " watches a scalar, " + tensor_.text() + " had the shape " + dims_text(value.dims()));
    return value.number(0);
  }

  std::string name_;
  // For messages: the hook that watches.
  std::string hook_, if_undefined_;
  std::int64_t start_from_step_;
  SecondOrStepTimer timer_;
  GlobalStep step_;
  Output tensor_;
  std::optional<Fetch<std::int64_t>> evaluated_;  // empty: a value of the training step
  std::int64_t seen_evaluation_ = kNone;
  bool warned_ = false;
};

}  // namespace v0
}  // namespace belay
