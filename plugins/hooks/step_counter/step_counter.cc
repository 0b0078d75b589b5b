// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "../training_scalars.h"

namespace {

class StepCounter final : public belay::Hook {
 public:
  struct Options {
    std::optional<std::int64_t> every_n_steps;
    std::optional<double> every_n_secs;
  };
  static constexpr auto about = belay::about(
      "step_counter", "Measures steps and examples per second, and writes them into the event file",
      belay::option("every_n_steps", &Options::every_n_steps,
                    "period of the measurements, in steps; 100 if no period is set")
          .min(1)
          .watching(),
      belay::option("every_n_secs", &Options::every_n_secs, "period of the measurements, in seconds, in place of steps")
          .min(0.001)
          .watching());

  explicit StepCounter(const Options& o)
      : timer_(o.every_n_secs, o.every_n_steps || o.every_n_secs ? o.every_n_steps : std::int64_t{100}) {
    if (o.every_n_steps && o.every_n_secs)
      belay::fail(belay::Code::kInvalidArgument,
                  "give at most one of 'every_n_steps' and 'every_n_secs'; both are given");
  }

  void begin(belay::Graph& graph) override {
    step_ = belay::GlobalStep(graph);
    tag_ = graph.node_name_of(graph.global_step_if_exists()) + "/sec";
    examples_ = ExamplesPerStep(graph, host());
  }

  void after_create_session(belay::Session& session) override {
    step_.forget();
    counts_examples_ = static_cast<bool>(examples_.tensor());
    if (timer_.last_triggered_step() && *timer_.last_triggered_step() > step_.read(session)) timer_.reset();
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{step_.fetch()};
    if (counts_examples_) args.fetch(examples_.tensor());
    return args;
  }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    const std::int64_t predicted = step_.predicted(values);
    if (std::exchange(counts_examples_, false)) examples_per_step_ = examples_.of(values);
    if (step_.stalled()) warn_of_standstill();
    if (!timer_.should_trigger_for_step(predicted, host())) return;
    const std::int64_t step = step_.read(run.session());
    if (!timer_.should_trigger_for_step(step, host())) return;
    const auto elapsed = timer_.update_last_triggered_step(step, host().monotonic());
    if (elapsed && elapsed->seconds > 0) write(step, static_cast<double>(elapsed->steps) / elapsed->seconds);
  }

  void save_state(belay::StateWriter& state) const override { timer_.save(state, host().monotonic()); }
  void load_state(const belay::StateReader& state) override { timer_.load(state, host().monotonic()); }

 private:
  void write(std::int64_t step, double steps_per_second) const {
    belay::Events(host()).scalar(tag_, step, steps_per_second);
    if (examples_per_step_ > 0)
      belay::Events(host()).scalar("examples/sec", step, steps_per_second * static_cast<double>(examples_per_step_));
  }
  void warn_of_standstill() {
    constexpr int kMostWarnings = 5;
    if (++standstills_ > kMostWarnings) return;
    host().warning("the global step is still " + std::to_string(step_.last_fetched()) +
                   " after another run, so nothing that counts steps will happen: let the train operation advance it");
  }

  belay::SecondOrStepTimer timer_;
  belay::GlobalStep step_;
  std::string tag_;
  ExamplesPerStep examples_;
  bool counts_examples_ = false;  // true in the first run of a session; all batches but an epoch's last have the same
                                  // size
  std::int64_t examples_per_step_ = 0;  // 0: not known
  int standstills_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", StepCounter)
