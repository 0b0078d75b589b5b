// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_lr_monitor;

namespace lr_monitor_test {

using namespace belay::testing;

using Scalars = std::vector<WrittenScalar>;
using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_lr_monitor); }

std::unique_ptr<HookDriver> started(const OptionValues& options, const StoredState* state = nullptr,
                                    std::int64_t step = 0) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->tensor<float>("learning_rate");
  hook->tensor<float>("scale");
  hook->tensor<float>("logits", {-1, 10});
  hook->global_step(step);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  hook->session().set_value("learning_rate", 0.5f);
  hook->session().set_value("scale", 1.f);
  return hook;
}

TEST(LrMonitor, WritesTheRateRegularly) {
  const auto hook = started({{"every_n_steps", 2}});
  for (int i = 0; i < 4; ++i) hook->step();
  EXPECT_EQ(hook->events().scalars(), (Scalars{{"learning_rate", 1, 0.5}, {"learning_rate", 3, 0.5}}));
}

TEST(LrMonitor, OtherScalarsAndTheLog) {
  const auto hook = started({{"tensors", Texts{"learning_rate", "scale"}}, {"log", true}});
  EXPECT_EQ(hook->step().logged, Texts{"info: learning_rate = 0.5, scale = 1 at step 1"});
  EXPECT_EQ(hook->events().scalars().size(), 2u);
}

TEST(LrMonitor, TakesScalarsOnly) {
  EXPECT_EQ(error_of([] {
              started({{"tensors", Texts{"logits"}}});
            }),
            "INVALID_ARGUMENT: lr_monitor takes scalar numbers, 'logits:0' (float32 [?, 10]) is none");
}

TEST(LrMonitor, AResumedRunKeepsTheRhythm) {
  const auto before = started({{"every_n_steps", 4}});
  for (int i = 0; i < 3; ++i) before->step();
  const StoredState state = before->save_state();
  const auto after = started({{"every_n_steps", 4}}, &state, 3);
  for (int i = 0; i < 3; ++i) after->step();
  EXPECT_EQ(after->events().scalars(), (Scalars{{"learning_rate", 5, 0.5}}));
}

TEST(LrMonitor, BetweenTwoLooksItAllocatesNothing) {
  const auto hook = started({{"every_n_steps", 100}});
  hook->step();
  hook->step();
  hook->probe_with(allocations);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(hook->step().probed, 0u);
}

}  // namespace lr_monitor_test
