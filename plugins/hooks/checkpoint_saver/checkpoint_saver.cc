// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>

#include <cstdint>
#include <optional>

namespace {

class CheckpointSaver final : public belay::Hook {
 public:
  struct Options {
    std::optional<double> save_secs;
    std::optional<std::int64_t> save_steps;
  };
  static constexpr auto about = belay::about(
      "checkpoint_saver", "Asks for checkpoints when a session begins, regularly, and at the end",
      belay::option("save_secs", &Options::save_secs, "period of the checkpoints, in seconds").min(0.001).watching(),
      belay::option("save_steps", &Options::save_steps,
                    "period of the checkpoints, in steps; if both periods are set, the one that ends first counts")
          .min(1)
          .watching()
          .example(1000));

  explicit CheckpointSaver(const Options& o) {
    if (!o.save_secs && !o.save_steps)
      belay::fail(belay::Code::kInvalidArgument, "give a period: 'save_secs', 'save_steps', or both");
    timer_ = belay::SecondOrStepTimer(o.save_secs, o.save_steps);
  }

  void begin(belay::Graph& graph) override { step_ = belay::GlobalStep(graph); }

  void after_create_session(belay::Session& session) override {
    const std::int64_t step = step_.read(session);
    step_.forget();
    // A restored timer continues its period. It begins again if its last step is still ahead.
    if (timer_.last_triggered_step().value_or(step + 1) > step)
      timer_.update_last_triggered_step(step, host().monotonic());
    save(step);
  }

  belay::RunArgs before_run(belay::RunContext&) override { return {step_.fetch()}; }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    if (!timer_.should_trigger_for_step(step_.predicted(values), host())) return;
    const std::int64_t step = step_.read(run.session());
    if (!timer_.should_trigger_for_step(step, host())) return;
    timer_.update_last_triggered_step(step, host().monotonic());
    save(step);
  }

  void end(belay::Session& session) override {
    const std::int64_t step = step_.read(session);
    if (last_saved_ != step) save(step);
  }

  void save_state(belay::StateWriter& state) const override { timer_.save(state, host().monotonic()); }
  void load_state(const belay::StateReader& state) override { timer_.load(state, host().monotonic()); }

 private:
  void save(std::int64_t step) {
    last_saved_ = step;
    belay::save_checkpoint(host());
  }

  belay::SecondOrStepTimer timer_;
  belay::GlobalStep step_;
  std::optional<std::int64_t> last_saved_;  // in this session, whatever the timer has
};

}  // namespace

BELAY_MODULE("1.0.0", CheckpointSaver)
