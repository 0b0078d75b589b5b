// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_global_step_waiter;

namespace global_step_waiter_test {

using namespace belay::testing;
using belay::Tensor;

const belay_module& module() { return module_under_test(belay_module_global_step_waiter); }

TEST(GlobalStepWaiter, NeedsAStepAndAPositivePause) {
  EXPECT_EQ(error_of([] { HookDriver hook(module()); }), "INVALID_ARGUMENT: 'wait_until_step' is required");
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"wait_until_step", 10}, {"poll_secs", 0.0}});
            }),
            "INVALID_ARGUMENT: 'poll_secs' is 0, must be >= 0.001");
}

TEST(GlobalStepWaiter, NeedsAGlobalStep) {
  HookDriver hook(module(), {{"wait_until_step", 10}});
  EXPECT_EQ(error_of([&] { hook.begin(); }), "FAILED_PRECONDITION: the graph has no global step");
}

TEST(GlobalStepWaiter, DoesNotWaitForAStepThatIsThere) {
  HookDriver hook(module(), {{"wait_until_step", 10}});
  hook.global_step(10);
  hook.begin();
  hook.create_session();
  const StepResult first = hook.step();
  EXPECT_TRUE(first.fetched.empty());
  EXPECT_TRUE(first.logged.empty());
  EXPECT_EQ(hook.session().raw_runs().size(), 1u);
  hook.step();
  EXPECT_EQ(hook.session().raw_runs().size(), 1u);  // it waits once
}

TEST(GlobalStepWaiter, EndsTheSessionWhenItIsToldToStopWhileItWaits) {
  HookDriver hook(module(), {{"wait_until_step", 10}, {"poll_secs", 0.001}});
  hook.global_step(3);
  hook.begin();
  hook.create_session();
  hook.session().coordinator().request_stop(belay::Code::kOk, "enough");
  EXPECT_EQ(error_of([&] { hook.step(); }), "STOP: stopped while waiting for global step 10");
  EXPECT_EQ(hook.logged().back(), "info: waiting for global step 10 before the first run; it is 3");
}

TEST(GlobalStepWaiter, LogsAtTheStartAndEveryThousandSteps) {
  HookDriver hook(module(), {{"wait_until_step", 2500}, {"poll_secs", 0.001}});
  hook.global_step(0);
  hook.begin();
  hook.create_session();
  hook.host().clock.jump_over_waits();
  std::int64_t step = -400;
  hook.session().on_run([&](const FakeSession::RawRun&) { return std::vector<Tensor>{Tensor(step += 400)}; });
  EXPECT_EQ(hook.step().logged,
            (std::vector<std::string>{"info: waiting for global step 2500 before the first run; it is 0",
                                      "info: waiting for global step 2500 before the first run; it is 1200",
                                      "info: waiting for global step 2500 before the first run; it is 2400"}));
}

}  // namespace global_step_waiter_test
