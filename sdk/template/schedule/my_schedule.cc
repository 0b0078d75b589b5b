// Halves the learning rate every so many steps: learning_rate * 0.5 ^ (t / steps), t being the steps taken.
#include <belay/ops/math.h>
#include <belay/plugin.h>

#include <cstdint>

namespace {

namespace ops = belay::ops;
using belay::Output;

class MySchedule final : public belay::Schedule {
 public:
  struct Options {
    std::int64_t steps = 1000;
  };
  static constexpr auto about = belay::about(
      "my_schedule", "Halves the learning rate in each period",
      belay::option("steps", &Options::steps, "period in which the rate becomes half, in steps").range(1, 1e15));

  explicit MySchedule(const Options& options) : options_(options) {}

  Output build(const belay::ScheduleContext& s) override {
    return s.learning_rate() * ops::pow(s.scalar(0.5), s.step() / static_cast<double>(options_.steps));
  }

 private:
  const Options options_;
};

}  // namespace

BELAY_MODULE("0.1.0", MySchedule)
