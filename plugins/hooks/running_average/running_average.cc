// SPDX-License-Identifier: Apache-2.0
#include <belay/due_steps.h>
#include <belay/plugin.h>
#include <belay/scalar_fetches.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace {

class RunningAverage final : public belay::Hook {
 public:
  struct Options {
    belay::List<belay::Str> tensors;
    double alpha = 0.98;
    std::int64_t every_n_steps = 100;
    bool log = false;
  };
  static constexpr auto about = belay::about(
      "running_average", "Averages scalars over the steps and writes the averages into the event file",
      belay::option("tensors", &Options::tensors, "scalars to average; their curves are running_average/NAME")
          .required()
          .example("loss")
          .watching(),
      belay::option("alpha", &Options::alpha,
                    "share of the average that a step keeps; 0.98 averages over about 50 steps")
          .range(0, 0.999999)
          .watching(),
      belay::option("every_n_steps", &Options::every_n_steps, "period of the writes, in steps").min(1).watching(),
      belay::option("log", &Options::log, "true: also writes the values to the log").watching());

  explicit RunningAverage(const Options& o)
      : alpha_(o.alpha), log_(o.log), due_(o.every_n_steps), scalars_(o.tensors), averages_(scalars_.size()) {}

  void begin(belay::Graph& graph) override {
    due_.begin(graph);
    scalars_.begin(graph, "running_average");
  }
  void after_create_session(belay::Session& session) override { due_.session_created(session); }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{due_.fetch()};
    scalars_.add_to(args);
    due_.next(host());
    return args;
  }
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    for (std::size_t i = 0; i < averages_.size(); ++i) averages_[i].add(scalars_.value(values, i), alpha_);
    if (const auto step = due_.reached(run.session(), values, host())) write(*step);
  }

  void save_state(belay::StateWriter& state) const override {
    due_.save(state, host());
    for (std::size_t i = 0; i < averages_.size(); ++i)
      state.put("of/" + scalars_.name(i), std::vector<double>{averages_[i].sum, averages_[i].weight});
  }
  void load_state(const belay::StateReader& state) override {
    due_.load(state, host());
    for (std::size_t i = 0; i < averages_.size(); ++i) {
      const std::vector<double> stored = state.numbers("of/" + scalars_.name(i));
      averages_[i] = stored.size() == 2 ? Average{stored[0], stored[1]} : Average();
    }
  }

 private:
  // The weights of the values add up to `weight`. It is below 1 in the first steps. A division by it makes averages
  // there, too.
  struct Average {
    double sum = 0;
    double weight = 0;
    void add(double value, double alpha) {
      if (!std::isfinite(value)) return;  // one NaN would stay for ever
      sum = alpha * sum + (1 - alpha) * value;
      weight = alpha * weight + (1 - alpha);
    }
    double value() const { return sum / weight; }
  };

  void write(std::int64_t step) const {
    const belay::Events events(host());
    std::string text;
    for (std::size_t i = 0; i < averages_.size(); ++i) {
      if (averages_[i].weight == 0) continue;
      events.scalar("running_average/" + scalars_.name(i), step, averages_[i].value());
      if (log_)
        text += (text.empty() ? "" : ", ") + scalars_.name(i) + " = " + belay::rounded_text(averages_[i].value());
    }
    if (log_ && !text.empty()) host().info("averages at step " + std::to_string(step) + ": " + text);
  }

  const double alpha_;
  const bool log_;
  belay::DueSteps due_;
  belay::ScalarFetches scalars_;
  std::vector<Average> averages_;
};

}  // namespace

BELAY_MODULE("1.0.0", RunningAverage)
