// SPDX-License-Identifier: Apache-2.0
// Drives a schedule plugin on the real engine: the learning rate at any step. Link belay::testing_runtime; this header
// needs only the SDK.
//
//   ScheduleDriver schedule(belay_module_half_life, {{"steps", 10}});
//   schedule.learning_rate(0.5);
//   EXPECT_FLOAT_EQ(schedule.rate(0), 0.5);
//   EXPECT_FLOAT_EQ(schedule.rate(10), 0.25);
//
// The plugin's error is thrown as belay::Error with its name. Use it from one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "belay/testing/option_values.h"

namespace belay {
inline namespace v0 {
namespace testing {

class ScheduleDriver {
 public:
  // Makes the instance. `plugin` selects it if the module has several.
  explicit ScheduleDriver(const belay_module& module, const OptionValues& options = {}, const std::string& plugin = {});
  ~ScheduleDriver();
  ScheduleDriver(const ScheduleDriver&) = delete;
  ScheduleDriver& operator=(const ScheduleDriver&) = delete;

  // Sets the user's learning_rate. Call it before the first rate. Without it there is none, not even the host's
  // default, 0.001.
  void learning_rate(double rate);
  // Returns the learning rate of the step after `global_step` steps, as a run has it: a float32. The first call calls
  // the plugin's build.
  double rate(std::int64_t global_step);
  // Returns the largest difference from the formula, relative to its value. It looks at steps at which something may
  // change, and far beyond them: 0, 1, 2, around 10, 100, 200, 300 and 1000, 123457 and 16777217. Rounding to float32
  // is 6e-8 of the value.
  double worst_error(const std::function<double(double global_step)>& formula);

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
