// SPDX-License-Identifier: Apache-2.0
#include <belay/ops/math.h>
#include <belay/plugin.h>

#include <cstdint>

namespace {

namespace ops = belay::ops;
using belay::Output;
using belay::ScheduleContext;

class PolynomialDecay final : public belay::Schedule {
 public:
  struct Options {
    std::int64_t decay_steps = 1000;
    double end_learning_rate = 0.0001;
    double power = 1;
    bool cycle = false;
  };
  static constexpr auto about = belay::about(
      "polynomial_decay",
      "(learning_rate - end_learning_rate) * (1 - t / decay_steps) ^ power + end_learning_rate, until decay_steps",
      belay::option("decay_steps", &Options::decay_steps, "step at which the rate is end_learning_rate").range(1, 1e15),
      belay::option("end_learning_rate", &Options::end_learning_rate, "learning rate from decay_steps on")
          .range(0, 1e30),
      belay::option("power", &Options::power, "exponent of the decay, above 0; 1 means a straight line")
          .range(1e-300, 1e30),
      belay::option("cycle", &Options::cycle,
                    "true: begins again at the end, over more steps each time: decay_steps is decay_steps * max(1, "
                    "ceil(t / decay_steps))"));

  explicit PolynomialDecay(const Options& o) : o_(o) {}

  Output build(const ScheduleContext& s) override {
    const Output done = fraction(s), power = s.scalar(o_.power);
    return (s.learning_rate() - o_.end_learning_rate) * ops::pow(1.0 - done, power) + o_.end_learning_rate;
  }

 private:
  // Returns the fraction of the decay that is done, 0 to 1.
  Output fraction(const ScheduleContext& s) const {
    const Output decay_steps = s.scalar(static_cast<double>(o_.decay_steps));
    if (!o_.cycle) return ops::minimum(s.step(), decay_steps) / decay_steps;
    const Output cycles = ops::maximum(s.scalar(1), -ops::floor(-(s.step() / decay_steps)));
    return s.step() / (decay_steps * cycles);
  }

  const Options o_;
};

}  // namespace

BELAY_MODULE("1.0.0", PolynomialDecay)
