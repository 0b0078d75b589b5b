// SPDX-License-Identifier: Apache-2.0
#include <belay/due_steps.h>
#include <belay/plugin.h>
#include <belay/scalar_fetches.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

class LrMonitor final : public belay::Hook {
 public:
  struct Options {
    belay::List<belay::Str> tensors;
    std::int64_t every_n_steps = 100;
    bool log = false;
  };
  static constexpr auto about = belay::about(
      "lr_monitor", "Writes the learning rate of the step, as the schedule and the scale make it, into the event file",
      belay::option("tensors", &Options::tensors,
                    "scalars to write, each under its name; if empty, learning_rate with its schedule and scale")
          .watching(),
      belay::option("every_n_steps", &Options::every_n_steps, "period of the writes, in steps").min(1).watching(),
      belay::option("log", &Options::log, "true: also writes the values to the log").watching());

  explicit LrMonitor(const Options& o) : log_(o.log), due_(o.every_n_steps), rates_(names(o)) {}

  void begin(belay::Graph& graph) override {
    due_.begin(graph);
    rates_.begin(graph, "lr_monitor");
  }
  void after_create_session(belay::Session& session) override { due_.session_created(session); }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{due_.fetch()};
    if (due_.next(host())) rates_.add_to(args);
    return args;
  }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    const auto step = due_.reached(run.session(), values, host());
    if (!step) return;
    const belay::Events events(host());
    std::string text;
    for (std::size_t i = 0; i < rates_.size(); ++i) {
      const double rate = rates_.value(values, i);
      events.scalar(rates_.name(i), *step, rate);
      if (log_) text += (i == 0 ? "" : ", ") + rates_.name(i) + " = " + belay::rounded_text(rate);
    }
    if (log_) host().info(text + " at step " + std::to_string(*step));
  }

  void save_state(belay::StateWriter& state) const override { due_.save(state, host()); }
  void load_state(const belay::StateReader& state) override { due_.load(state, host()); }

 private:
  static std::vector<std::string> names(const Options& o) {
    std::vector<std::string> names;
    for (const belay::Str& name : o.tensors) names.emplace_back(name);
    if (names.empty()) names.emplace_back("learning_rate");
    return names;
  }

  const bool log_;
  belay::DueSteps due_;
  belay::ScalarFetches rates_;
};

}  // namespace

BELAY_MODULE("1.0.0", LrMonitor)
