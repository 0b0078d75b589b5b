// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>

#include <cstdint>
#include <optional>
#include <string>

namespace {

using belay::Code;

class StopAtStep final : public belay::Hook {
 public:
  struct Options {
    std::optional<std::int64_t> num_steps;
    std::optional<std::int64_t> last_step;
  };
  static constexpr auto about = belay::about(
      "stop_at_step", "Stops the run when the global step has reached a number",
      belay::option("num_steps", &Options::num_steps,
                    "further steps before the run stops; a run that was killed keeps its target when it continues")
          .min(1)
          .watching(),
      belay::option("last_step", &Options::last_step, "global step at which the run stops")
          .min(1)
          .example(1000)
          .watching());

  explicit StopAtStep(const Options& o) : num_steps_(o.num_steps), target_(o.last_step) {
    if (o.num_steps.has_value() == o.last_step.has_value())
      belay::fail(Code::kInvalidArgument, std::string("give exactly one of 'num_steps' and 'last_step'; ") +
                                              (o.num_steps ? "both are given" : "none is given"));
  }

  void begin(belay::Graph& graph) override { step_ = belay::GlobalStep(graph); }

  void after_create_session(belay::Session& session) override {
    const std::int64_t step = step_.read(session);
    step_.forget();
    // The target is set once per process: a recovery that goes back in steps does not move it.
    if (!target_) target_ = restored_target_ && *restored_target_ > step ? *restored_target_ : step + *num_steps_;
    // If no step is left, it stops before the first run.
    if (step >= *target_) session.coordinator().request_stop(reason(step));
  }

  belay::RunArgs before_run(belay::RunContext&) override { return {step_.fetch()}; }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    if (step_.predicted(values) < *target_) return;
    const std::int64_t step = step_.read(run.session());
    if (step >= *target_) run.request_stop(reason(step));
  }

  void save_state(belay::StateWriter& state) const override {
    if (!num_steps_ || !target_) return;
    state.put("num_steps", *num_steps_);
    state.put("target", *target_);
  }
  void load_state(const belay::StateReader& state) override {
    // A changed num_steps is a new request, which counts from the current step.
    if (num_steps_ && state.integer("num_steps") == *num_steps_) restored_target_ = state.integer("target");
  }

 private:
  std::string reason(std::int64_t step) const {
    return "reached step " + std::to_string(step) +
           (num_steps_ ? " (num_steps = " + std::to_string(*num_steps_) : " (last_step = " + std::to_string(*target_)) +
           ")";
  }

  const std::optional<std::int64_t> num_steps_;
  std::optional<std::int64_t> target_;
  std::optional<std::int64_t> restored_target_;
  belay::GlobalStep step_;
};

}  // namespace

BELAY_MODULE("1.0.0", StopAtStep)
