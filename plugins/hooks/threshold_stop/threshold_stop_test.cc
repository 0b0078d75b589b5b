// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_threshold_stop;

namespace threshold_stop_test {

using namespace belay::testing;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const belay_module& module() { return module_under_test(belay_module_threshold_stop); }

std::unique_ptr<HookDriver> started(const OptionValues& options, const StoredState* state = nullptr,
                                    std::int64_t step = 0) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->tensor<float>("loss");
  hook->tensor<float>("accuracy");
  hook->global_step(step);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  return hook;
}

TEST(ThresholdStop, RefusesUnusableOptions) {
  EXPECT_EQ(error_of([] { started({}); }), "INVALID_ARGUMENT: give 'target', 'diverged' or both");
  EXPECT_EQ(error_of([] {
              started({{"target", 2.0}, {"diverged", 1.0}});
            }),
            "INVALID_ARGUMENT: 'diverged' is 1, which is no worse than 'target', 2");
}

TEST(ThresholdStop, StopsWhereTheTargetIsReached) {
  const auto hook = started({{"target", 0.5}, {"every_n_steps", 1}});
  EXPECT_FALSE(hook->step({{"loss", 0.6f}}).stop_asked);
  EXPECT_FALSE(hook->step({{"loss", kNan}}).stop_asked);
  EXPECT_EQ(hook->step({{"loss", 0.5f}}).stop_reason, "'loss' is 0.5 at step 3, the target is reached (target = 0.5)");
}

TEST(ThresholdStop, LargerIsBetterForAnAccuracy) {
  const auto hook =
      started({{"tensor", std::string("accuracy")}, {"target", 0.9}, {"diverged", 0.1}, {"every_n_steps", 1}});
  EXPECT_FALSE(hook->step({{"accuracy", 0.8f}}).stop_asked);
  EXPECT_TRUE(hook->step({{"accuracy", 0.95f}}).stop_asked);
  EXPECT_EQ(error_of([&] {
              hook->step({{"accuracy", 0.05f}});
            }),
            "DIVERGED: [B5043] 'accuracy' is 0.05 at step 3: training has diverged (diverged = 0.1)");
}

TEST(ThresholdStop, ActsAfterSoManyLooksOneBehindTheOther) {
  const auto hook = started({{"target", 0.5}, {"diverged", 10.0}, {"patience", 2}, {"every_n_steps", 1}});
  EXPECT_FALSE(hook->step({{"loss", 0.4f}}).stop_asked);
  EXPECT_FALSE(hook->step({{"loss", 0.6f}}).stop_asked);
  EXPECT_FALSE(hook->step({{"loss", 0.4f}}).stop_asked);
  EXPECT_EQ(hook->step({{"loss", 0.3f}}).stop_reason,
            "'loss' is 0.3 at step 4, the target is reached (target = 0.5, patience = 2)");
  hook->step({{"loss", 11.f}});
  EXPECT_EQ(error_of([&] {
              hook->step({{"loss", kNan}});
            }),
            "DIVERGED: [B5043] 'loss' is nan at step 6: training has diverged (diverged = 10, patience = 2)");
}

TEST(ThresholdStop, AResumedRunCountsOn) {
  const OptionValues options{{"target", 0.5}, {"patience", 3}, {"every_n_steps", 1}};
  const auto before = started(options);
  for (int i = 0; i < 2; ++i) before->step({{"loss", 0.4f}});
  const StoredState state = before->save_state();
  const auto after = started(options, &state, 2);
  EXPECT_TRUE(after->step({{"loss", 0.4f}}).stop_asked);
}

TEST(ThresholdStop, ARunThatReachedItsTargetMakesNoStepUnlessItIsGivenAnother) {
  const auto before = started({{"target", 0.5}, {"every_n_steps", 1}});
  ASSERT_TRUE(before->step({{"loss", 0.4f}}).stop_asked);
  const StoredState state = before->save_state();
  EXPECT_TRUE(started({{"target", 0.5}, {"every_n_steps", 1}}, &state, 1)->stop_asked());
  EXPECT_FALSE(started({{"target", 0.3}, {"every_n_steps", 1}}, &state, 1)->stop_asked());
}

TEST(ThresholdStop, AllocatesNothing) {
  const auto hook = started({{"target", 0.5}, {"diverged", 9.0}, {"every_n_steps", 1000}});
  hook->step({{"loss", 1.f}});
  hook->probe_with(allocations);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(hook->step().probed, 0u);
}

}  // namespace threshold_stop_test
