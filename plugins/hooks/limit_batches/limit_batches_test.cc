// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_limit_batches;

namespace limit_batches_test {

using namespace belay::testing;

const belay_module& module() { return module_under_test(belay_module_limit_batches); }

std::unique_ptr<HookDriver> started(const OptionValues& options, const StoredState* state = nullptr) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  return hook;
}

TEST(LimitBatches, StopsAfterSoManyRuns) {
  const auto hook = started({{"batches", 2}});
  hook->probe_with(allocations);
  const StepResult first = hook->step();
  EXPECT_FALSE(first.stop_asked);
  EXPECT_EQ(first.probed, 0u);
  EXPECT_EQ(hook->step().stop_reason, "2 batches are trained (batches = 2)");
}

TEST(LimitBatches, EachAttemptHasAllOfThem) {
  const auto before = started({{"batches", 3}});
  before->step();
  before->step();
  const StoredState state = before->save_state();
  const auto after = started({{"batches", 3}}, &state);
  EXPECT_FALSE(after->step().stop_asked);
  EXPECT_FALSE(after->step().stop_asked);
  EXPECT_TRUE(after->step().stop_asked);
}

TEST(LimitBatches, EarlierAttemptsCanCount) {
  const OptionValues options{{"batches", 3}, {"count_earlier_attempts", true}};
  const auto before = started(options);
  before->step();
  before->step();
  StoredState state = before->save_state();
  const auto after = started(options, &state);
  EXPECT_TRUE(after->step().stop_asked);
  state = after->save_state();
  EXPECT_TRUE(started(options, &state)->stop_asked());
}

TEST(LimitBatches, ARecoveryDoesNotBeginAnew) {
  const auto hook = started({{"batches", 3}});
  hook->step();
  hook->step();
  hook->recover();
  EXPECT_TRUE(hook->step().stop_asked);
}

}  // namespace limit_batches_test
