// SPDX-License-Identifier: Apache-2.0
// A scalar that a hook looks at: a value of the training step ("loss"), every so many steps, or a metric of the
// evaluation ("eval/accuracy"), once for each evaluation.
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
// With the state a resumed run looks at the same steps as one that never stopped.
//
// Evaluations between two steps leave their metrics in the training graph, under the names eval/loss, eval/accuracy,
// ... of [input.eval] and eval_NAME/... of [input.eval_NAME], and beside them eval/global_step, the step that was
// evaluated; NaN and -1 before the first one. So the run behind an evaluation is the one that sees it, and the step of
// the look is that of the evaluation.
#pragma once

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
  // What a hook decides by.
  struct Look {
    // Of any numeric dtype, as a double; may be NaN.
    double value;
    // The global step that it belongs to: after the run's update, or that of the evaluation.
    std::int64_t step;
  };

  // `name`: as Graph::find has it. `every_n_steps` is for values of the training step; of an evaluation no look is left
  // out. There is no look before the global step `start_from_step`.
  WatchedMetric(std::string name, std::int64_t every_n_steps, std::int64_t start_from_step = 0)
      : name_(std::move(name)), start_from_step_(start_from_step), timer_({}, every_n_steps) {}

  // In Hook::begin. NOT_FOUND where the graph has no such name, with the nearest one; INVALID_ARGUMENT where it is no
  // scalar number; FAILED_PRECONDITION where there is no global step. The message has `hook`.
  void begin(const Graph& graph, std::string_view hook) {
    hook_ = hook;
    tensor_ = graph.fetch(graph.find(name_));
    if (tensor_.is_operation() || tensor_.rank() > 0 || tensor_.dtype() == DType::kString)
      fail(Code::kInvalidArgument, hook_ + " watches a scalar number, " + tensor_.text() + " is none");
    step_ = GlobalStep(graph);
    evaluated_.reset();
    if (const Output step = step_of_evaluation(graph)) evaluated_ = graph.fetch<std::int64_t>(step);
  }
  // In each after_create_session. After a recovery to an earlier step what was seen later is forgotten, so that the
  // steps that come again are looked at again.
  void session_created(const Session& session) {
    step_.forget();
    const std::int64_t step = step_.read(session);
    if (timer_.last_triggered_step() && *timer_.last_triggered_step() > step) timer_.reset();
    if (seen_evaluation_ > step) seen_evaluation_ = kNone;
  }

  // In each before_run: the value and its step, two scalars, in every run.
  RunArgs fetches() const {
    if (evaluated_) return {*evaluated_, tensor_};
    return {step_.fetch(), tensor_};
  }
  // In each after_run: the value, where it is time to look, else nothing. Reads the real global step by a raw run only
  // then.
  std::optional<Look> look(const Session& session, const RunValues& values, const Host& host) {
    if (evaluated_) return look_at_evaluation(values);
    const std::int64_t predicted = step_.predicted(values);
    if (predicted < start_from_step_ || !timer_.should_trigger_for_step(predicted, host)) return std::nullopt;
    const std::int64_t step = step_.read(session);
    if (step < start_from_step_ || !timer_.should_trigger_for_step(step, host)) return std::nullopt;
    timer_.update_last_triggered_step(step, host.monotonic());
    return Look{number(values), step};
  }

  // For messages: "loss".
  const std::string& name() const noexcept { return name_; }
  // For messages: "3 looks", "1 evaluation".
  std::string count_text(std::int64_t n) const {
    return std::to_string(n) + (evaluated_ ? " evaluation" : " look") + (n == 1 ? "" : "s");
  }

  // In save_state and load_state; its keys do not collide with those of Improvement.
  void save(StateWriter& state, const Host& host) const {
    timer_.save(state, host.monotonic());
    if (seen_evaluation_ != kNone) state.put("seen_evaluation", seen_evaluation_);
  }
  void load(const StateReader& state, const Host& host) {
    timer_.load(state, host.monotonic());
    seen_evaluation_ = state.integer("seen_evaluation", kNone);
  }

 private:
  // As the graph has it before the first evaluation.
  static constexpr std::int64_t kNone = -1;

  // The step beside "eval/accuracy" or "eval_NAME/accuracy"; empty for a value of the training step.
  Output step_of_evaluation(const Graph& graph) const {
    const std::string_view name = name_;
    const std::size_t slash = name.rfind('/');
    if (slash == name.npos) return {};
    const std::string input(name.substr(0, slash));
    if (input != "eval" && input.rfind("eval_", 0) != 0) return {};
    return graph.find_if_exists(input + "/global_step");
  }
  // The first run behind an evaluation sees another step than before; all later ones see that again.
  std::optional<Look> look_at_evaluation(const RunValues& values) {
    const std::int64_t step = values[*evaluated_];
    if (step == seen_evaluation_ || step < 0) return std::nullopt;
    seen_evaluation_ = step;
    if (step < start_from_step_) return std::nullopt;
    return Look{number(values), step};
  }
  // The shape is checked in each look: while the graph was built it may have been unknown.
  double number(const RunValues& values) const {
    const TensorView value = values[tensor_];
    if (value.size() != 1)
      fail(Code::kInvalidArgument,
           hook_ + " watches a scalar, " + tensor_.text() + " had the shape " + dims_text(value.dims()));
    return value.number(0);
  }

  std::string name_;
  // For messages: who watches.
  std::string hook_;
  std::int64_t start_from_step_;
  SecondOrStepTimer timer_;
  GlobalStep step_;
  Output tensor_;
  std::optional<Fetch<std::int64_t>> evaluated_;  // none: a value of the training step
  std::int64_t seen_evaluation_ = kNone;
};

}  // namespace v0
}  // namespace belay
