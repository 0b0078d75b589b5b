// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_stop_at_checkpoint_step;

namespace stop_at_checkpoint_step_test {

using namespace belay::testing;

const belay_module& module() { return module_under_test(belay_module_stop_at_checkpoint_step); }

// The hook looks every 10 s for step 100 in "runs/a".
const OptionValues kOptions{{"directory", std::string("runs/a")}, {"last_step", 100}, {"check_secs", 10.0}};

TEST(StopAtCheckpointStep, NeedsADirectoryAndAStep) {
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"last_step", 3}});
            }),
            "INVALID_ARGUMENT: 'directory' is required");
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"directory", std::string("runs/a")}});
            }),
            "INVALID_ARGUMENT: 'last_step' is required");
}

TEST(StopAtCheckpointStep, StopsOnceTheNewestCheckpointIsThere) {
  HookDriver hook(module(), kOptions);
  hook.begin();
  hook.create_session();
  EXPECT_FALSE(hook.stop_asked());
  hook.checkpoints().add("runs/a/model.ckpt-99", {});
  hook.host().clock.advance(11);
  EXPECT_FALSE(hook.step().stop_asked);
  hook.checkpoints().add("runs/a/model.ckpt-100", {});
  EXPECT_FALSE(hook.step().stop_asked);  // it does not look in every run
  hook.host().clock.advance(10);
  EXPECT_EQ(hook.step().stop_reason, "the newest checkpoint is 'runs/a/model.ckpt-100' (last_step = 100)");
}

TEST(StopAtCheckpointStep, MakesNoRunWhereItIsThereAlready) {
  HookDriver hook(module(), kOptions);
  hook.checkpoints().add("runs/a/model.ckpt-250", {});
  hook.begin();
  hook.create_session();
  EXPECT_EQ(hook.stop_reason(), "the newest checkpoint is 'runs/a/model.ckpt-250' (last_step = 100)");
}

TEST(StopAtCheckpointStep, WaitsWhereOnlyTheCheckpointIsMissing) {
  HookDriver hook(module(), kOptions);
  hook.host().clock.jump_over_waits();
  hook.global_step(98);
  hook.begin();
  hook.create_session();
  EXPECT_FALSE(hook.step().stop_asked);
  EXPECT_EQ(hook.host().clock.monotonic_ns(), 0);
  EXPECT_FALSE(hook.step().stop_asked);
  EXPECT_EQ(hook.host().clock.monotonic_ns(), 10'000'000'000);
  hook.checkpoints().add("runs/a/model.ckpt-100", {});
  EXPECT_TRUE(hook.step().stop_asked);
}

TEST(StopAtCheckpointStep, ADirectoryWithoutOneIsNoError) {
  HookDriver hook(module(), kOptions);
  hook.begin();
  hook.create_session();
  EXPECT_FALSE(hook.step().stop_asked);
}

}  // namespace stop_at_checkpoint_step_test
