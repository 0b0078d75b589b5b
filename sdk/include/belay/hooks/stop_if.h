// SPDX-License-Identifier: Apache-2.0
// TensorFlow's make_early_stopping_hook, for a program that builds its own graph. It stops the session when a function
// returns true.
//
//   const Fetch<double> accuracy(graph.fetch<double>("eval/accuracy"));
//   session.hooks.push_back(own_hook("good_enough", std::make_unique<belay::StopIf>(
//       [=](const Session& s, std::int64_t) { return s.value(accuracy) > 0.99; })));
//
// The hook calls the function after the first run and then every 60 s, or at the given periods. It passes the session,
// for raw runs, and the global step. The function may throw, which ends the session as an error. The plugin
// `early_stopping` has the usual conditions. [session]
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "belay/global_step.h"
#include "belay/second_or_step_timer.h"

namespace belay {
inline namespace v0 {

// A hook that stops. It needs a global step. FAILED_PRECONDITION in begin: the graph has none.
class StopIf final : public Hook {
 public:
  // Returns true to stop. `session` is valid for the call; raw runs with it (Session::value) do not call hooks.
  using Predicate = std::function<bool(const Session& session, std::int64_t step)>;
  // The periods of the calls. With both, the first that is over; std::nullopt: no period of this kind.
  struct Periods {
    std::optional<double> every_secs = 60;
    std::optional<std::int64_t> every_steps = std::nullopt;
  };

  // Uses the default period. INVALID_ARGUMENT: the function is empty, or there is no period. The function keeps its
  // captures until the session's end.
  explicit StopIf(Predicate predicate) : StopIf(std::move(predicate), Periods()) {}
  // Uses other periods: {.every_secs = std::nullopt, .every_steps = 100}.
  StopIf(Predicate predicate, const Periods& periods)
      : predicate_(std::move(predicate)), timer_(periods.every_secs, periods.every_steps) {
    if (!predicate_) fail(Code::kInvalidArgument, "StopIf was given no function");
  }

  void begin(Graph& graph) override { step_ = GlobalStep(graph); }
  // After a recovery to an earlier step the timer starts again.
  void after_create_session(Session& session) override {
    step_.forget();
    if (timer_.last_triggered_step() && *timer_.last_triggered_step() > step_.read(session)) timer_.reset();
  }
  RunArgs before_run(RunContext&) override { return {step_.fetch()}; }
  // The fetched step is cheap but may lag by one. The hook reads the real step only when a period is nearly over.
  void after_run(RunContext& run, const RunValues& values) override {
    if (!timer_.should_trigger_for_step(step_.predicted(values), host())) return;
    const Session session = run.session();
    const std::int64_t step = step_.read(session);
    if (!timer_.should_trigger_for_step(step, host())) return;
    timer_.update_last_triggered_step(step, host().monotonic());
    if (predicate_(session, step)) run.request_stop("its condition holds at step " + std::to_string(step));
  }
  // The state has the step of the last call and its age, so a resumed run calls at the same steps.
  void save_state(StateWriter& state) const override { timer_.save(state, host().monotonic()); }
  void load_state(const StateReader& state) override { timer_.load(state, host().monotonic()); }

 private:
  Predicate predicate_;
  SecondOrStepTimer timer_;
  GlobalStep step_;
};

}  // namespace v0
}  // namespace belay
