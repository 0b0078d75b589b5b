// SPDX-License-Identifier: Apache-2.0
#include <belay/ops/math.h>
#include <belay/plugin.h>

#include <cstdint>

namespace {

namespace ops = belay::ops;
using belay::Output;
using belay::ScheduleContext;

constexpr double kPi = 3.14159265358979323846;

class CosineDecay final : public belay::Schedule {
 public:
  struct Options {
    std::int64_t decay_steps = 1000;
    double alpha = 0;
  };
  static constexpr auto about = belay::about(
      "cosine_decay", "learning_rate * ((1 - alpha) * (1 + cos(pi * t / decay_steps)) / 2 + alpha), until decay_steps",
      belay::option("decay_steps", &Options::decay_steps, "step at which the rate is alpha * learning_rate")
          .range(1, 1e15),
      belay::option("alpha", &Options::alpha, "share of the rate that remains").range(0, 1));

  explicit CosineDecay(const Options& o) : o_(o) {}

  Output build(const ScheduleContext& s) override {
    const Output decay_steps = s.scalar(static_cast<double>(o_.decay_steps));
    const Output fraction = ops::minimum(s.step(), decay_steps) / decay_steps;
    const Output cosine = (ops::cos(fraction * kPi) + 1.0) * 0.5;
    return s.learning_rate() * (cosine * (1 - o_.alpha) + o_.alpha);
  }

 private:
  const Options o_;
};

}  // namespace

BELAY_MODULE("1.0.0", CosineDecay)
