// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>

namespace {

using belay::Output;
using belay::ScheduleContext;

// Keeps the rate constant, except for a warm-up.
class Constant final : public belay::Schedule {
 public:
  static constexpr auto about = belay::about("constant", "learning_rate in each step");

  Output build(const ScheduleContext& s) override { return s.scalar(s.learning_rate()); }
};

}  // namespace

BELAY_MODULE("1.0.0", Constant)
