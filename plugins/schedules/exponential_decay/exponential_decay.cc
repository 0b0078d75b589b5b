// SPDX-License-Identifier: Apache-2.0
#include <belay/ops/math.h>
#include <belay/plugin.h>

#include <cstdint>

namespace {

namespace ops = belay::ops;
using belay::Output;
using belay::ScheduleContext;

class ExponentialDecay final : public belay::Schedule {
 public:
  struct Options {
    std::int64_t decay_steps = 1000;
    double decay_rate = 0.96;
    bool staircase = false;
  };
  static constexpr auto about = belay::about(
      "exponential_decay", "learning_rate * decay_rate ^ (t / decay_steps)",
      belay::option("decay_steps", &Options::decay_steps, "period of the decay, in steps").range(1, 1e15),
      belay::option("decay_rate", &Options::decay_rate, "factor per decay_steps, above 0").range(1e-300, 1e30),
      belay::option("staircase", &Options::staircase,
                    "true: rounds t / decay_steps down, so that the rate changes in stairs"));

  explicit ExponentialDecay(const Options& o) : o_(o) {}

  Output build(const ScheduleContext& s) override {
    const Output count = s.step() / static_cast<double>(o_.decay_steps);
    const Output decays = o_.staircase ? ops::floor(count) : count;
    return s.learning_rate() * ops::pow(s.scalar(o_.decay_rate), decays);
  }

 private:
  const Options o_;
};

}  // namespace

BELAY_MODULE("1.0.0", ExponentialDecay)
