// SPDX-License-Identifier: Apache-2.0
// Checks a schedule on the real engine.
#include <fmt/core.h>

#include <cmath>

#include "belay/testing/schedule_driver.h"
#include "runtime/validate/check.h"

namespace belay::runtime {
namespace schedule_cases {

using belay::testing::ScheduleDriver;

constexpr std::int64_t kSteps[] = {0, 1, 2, 10, 100, 999, 1000, 1001, 100'000, 10'000'000, 1'000'000'000'000};

void options(const Subject& subject) { options_can_be_given(subject, "optimizer.learning_rate"); }

void rates(const Subject& subject) {
  must_succeed("computing rates", [&] {
    ScheduleDriver schedule(subject.module, subject.options(), subject.info.name);
    for (const std::int64_t step : kSteps) {
      const double rate = schedule.rate(step);
      if (!std::isfinite(rate) || rate < 0)
        throw CheckFailed(fmt::format("at step {} the rate is {}; it must be finite and at least 0", step,
                                      detail::number_text(rate)));
    }
  });
}

// The rate depends only on the step: it keeps nothing from one run to the next.
void of_the_step_alone(const Subject& subject) {
  must_succeed("computing rates", [&] {
    ScheduleDriver forward(subject.module, subject.options(), subject.info.name),
        backward(subject.module, subject.options(), subject.info.name);
    std::vector<double> rising, falling;
    for (auto step = std::begin(kSteps); step != std::end(kSteps); ++step) rising.push_back(forward.rate(*step));
    for (auto step = std::rbegin(kSteps); step != std::rend(kSteps); ++step)
      falling.insert(falling.begin(), backward.rate(*step));
    if (rising != falling) throw CheckFailed("the rate of a step depends on which steps were asked for before");
  });
}

}  // namespace schedule_cases

std::vector<Check> schedule_checks() {
  using namespace schedule_cases;
  return {{"create.host_keys", options}, {"drive.rates", rates}, {"drive.of_the_step_alone", of_the_step_alone}};
}

}  // namespace belay::runtime
