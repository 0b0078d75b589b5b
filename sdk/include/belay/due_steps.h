// SPDX-License-Identifier: Apache-2.0
// The runs in which a hook fetches more than in the others: the first run of a training, and then at a period. Use it
// for values that cost too much to compute in every step.
//
//   class Norm final : public belay::Hook {
//     ...
//     void begin(belay::Graph& graph) override { due_.begin(graph), norm_ = graph.fetch<float>("norm"); }
//     void after_create_session(belay::Session& session) override { due_.session_created(session); }
//     belay::RunArgs before_run(belay::RunContext&) override {
//       belay::RunArgs args{due_.fetch()};
//       if (due_.next(host())) args.fetch(norm_);
//       return args;
//     }
//     void after_run(belay::RunContext& run, const belay::RunValues& values) override {
//       const std::optional<std::int64_t> step = due_.reached(run.session(), values, host());
//       if (step) belay::Events(host()).scalar("norm", *step, values[norm_]);
//     }
//     void save_state(belay::StateWriter& state) const override { due_.save(state, host()); }
//     void load_state(const belay::StateReader& state) override { due_.load(state, host()); }
//     belay::DueSteps due_{100};
//   };
//
// With the saved state a resumed run acts at the same steps as a run without a stop, except for periods in seconds. It
// is a member of a hook, [session]. Between two due steps it allocates nothing. It reads the clock only for a period in
// seconds.
#pragma once

#include <cstdint>
#include <optional>

#include "belay/global_step.h"
#include "belay/second_or_step_timer.h"

namespace belay {
inline namespace v0 {

class DueSteps {
 public:
  // Acts every `every_n_steps` global steps.
  explicit DueSteps(std::int64_t every_n_steps) : timer_(std::nullopt, every_n_steps) {}
  // Acts after seconds, steps or both, by the first that is over. INVALID_ARGUMENT: neither is set.
  DueSteps(std::optional<double> every_n_secs, std::optional<std::int64_t> every_n_steps)
      : timer_(every_n_secs, every_n_steps) {}

  // Call it in Hook::begin. FAILED_PRECONDITION: the graph has no global step.
  void begin(const Graph& graph) { step_ = GlobalStep(graph); }
  // Call it in each after_create_session. After a recovery to an earlier step it forgets later actions.
  void session_created(const Session& session) {
    const std::int64_t step = step_.read(session);
    step_.forget();
    next_step_ = step + 1;
    if (timer_.last_triggered_step().value_or(step) > step) timer_.reset();
  }

  // The fetch to add in every run.
  const Fetch<std::int64_t>& fetch() const noexcept { return step_.fetch(); }
  // Call it in before_run: true if the coming run is due.
  bool next(const Host& host) {
    due_ = timer_.should_trigger_for_step(next_step_, host);
    return due_;
  }
  // The result of the last `next`.
  bool due() const noexcept { return due_; }
  // Call it in after_run. If the run was due, it returns the global step after it, read by a raw run; otherwise it is
  // empty.
  std::optional<std::int64_t> reached(const Session& session, const RunValues& values, const Host& host) {
    std::int64_t step = step_.predicted(values);
    if (due_) {
      step = step_.read(session);
      timer_.update_last_triggered_step(step, host.monotonic());
    }
    next_step_ = step + step_.steps_per_run();
    return due_ ? std::optional<std::int64_t>(step) : std::nullopt;
  }

  // Call them in save_state and load_state. The keys are those of SecondOrStepTimer.
  void save(StateWriter& state, const Host& host) const { timer_.save(state, host.monotonic()); }
  void load(const StateReader& state, const Host& host) { timer_.load(state, host.monotonic()); }

 private:
  SecondOrStepTimer timer_;
  GlobalStep step_;
  std::int64_t next_step_ = 0;  // step that the coming run probably reaches
  bool due_ = false;
};

}  // namespace v0
}  // namespace belay
