// SPDX-License-Identifier: Apache-2.0
// The runs in which a hook fetches more than in the others: the first of a training, and regularly after it. For what
// costs too much to be computed in every step.
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
// With the state a resumed run looks at the same steps as one that never stopped, but for periods in seconds. A member
// of a hook, [session]; between two due steps it allocates nothing and reads the clock only for a period in seconds.
#pragma once

#include <cstdint>
#include <optional>

#include "belay/global_step.h"
#include "belay/second_or_step_timer.h"

namespace belay {
inline namespace v0 {

class DueSteps {
 public:
  // Every so many global steps.
  explicit DueSteps(std::int64_t every_n_steps) : timer_(std::nullopt, every_n_steps) {}
  // In seconds, in steps or both, whichever comes first; neither is INVALID_ARGUMENT.
  DueSteps(std::optional<double> every_n_secs, std::optional<std::int64_t> every_n_steps)
      : timer_(every_n_secs, every_n_steps) {}

  // In Hook::begin. FAILED_PRECONDITION where the graph has no global step.
  void begin(const Graph& graph) { step_ = GlobalStep(graph); }
  // In each after_create_session. After a recovery to an earlier step what was done later is forgotten.
  void session_created(const Session& session) {
    const std::int64_t step = step_.read(session);
    step_.forget();
    next_step_ = step + 1;
    if (timer_.last_triggered_step().value_or(step) > step) timer_.reset();
  }

  // To be fetched in every run.
  const Fetch<std::int64_t>& fetch() const noexcept { return step_.fetch(); }
  // In before_run: whether the coming run is due.
  bool next(const Host& host) {
    due_ = timer_.should_trigger_for_step(next_step_, host);
    return due_;
  }
  // What the last `next` returned.
  bool due() const noexcept { return due_; }
  // In after_run: the global step that a run which was due has come to, read by a raw run; nothing in the others.
  std::optional<std::int64_t> reached(const Session& session, const RunValues& values, const Host& host) {
    std::int64_t step = step_.predicted(values);
    if (due_) {
      step = step_.read(session);
      timer_.update_last_triggered_step(step, host.monotonic());
    }
    next_step_ = step + step_.steps_per_run();
    return due_ ? std::optional<std::int64_t>(step) : std::nullopt;
  }

  // In save_state and load_state. The keys are those of SecondOrStepTimer.
  void save(StateWriter& state, const Host& host) const { timer_.save(state, host.monotonic()); }
  void load(const StateReader& state, const Host& host) { timer_.load(state, host.monotonic()); }

 private:
  SecondOrStepTimer timer_;
  GlobalStep step_;
  std::int64_t next_step_ = 0;  // that the coming run probably reaches
  bool due_ = false;
};

}  // namespace v0
}  // namespace belay
