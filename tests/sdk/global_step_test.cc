// SPDX-License-Identifier: Apache-2.0
#include "belay/global_step.h"

#include <gtest/gtest.h>

#include "belay/testing/hook_driver.h"

namespace {

using belay::testing::HookDriver;

// Notes the value of GlobalStep in every run.
class StepWatcher final : public belay::Hook {
 public:
  void begin(belay::Graph& g) override { step = belay::GlobalStep(g); }
  void after_create_session(belay::Session&) override { step.forget(); }
  belay::RunArgs before_run(belay::RunContext&) override { return {step.fetch()}; }
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    predicted = step.predicted(values);
    real = step.read(run.session());
  }
  belay::GlobalStep step;
  std::int64_t predicted = -1;
  std::int64_t real = -1;
};

struct GlobalStepFixture {
  GlobalStepFixture() {
    auto owned = std::make_unique<StepWatcher>();
    hook = owned.get();
    driver = std::make_unique<HookDriver>(std::move(owned));
    driver->global_step(10);
    driver->begin();
    driver->create_session();
  }
  StepWatcher* hook;
  std::unique_ptr<HookDriver> driver;
};

TEST(GlobalStep, PredictsTheStepAfterTheRun) {
  GlobalStepFixture f;
  for (std::int64_t step = 11; step < 15; ++step) {
    f.driver->step();
    EXPECT_EQ(f.hook->predicted, step);
    EXPECT_EQ(f.hook->real, step);
  }
}

TEST(GlobalStep, LearnsHowManyStepsARunMakes) {
  GlobalStepFixture f;
  f.driver->steps_per_run(5);
  f.driver->step();
  EXPECT_EQ(f.hook->predicted, 11);  // not known yet
  EXPECT_EQ(f.hook->real, 15);
  f.driver->step();
  EXPECT_EQ(f.hook->predicted, 20);
  EXPECT_EQ(f.hook->step.steps_per_run(), 5);
}

TEST(GlobalStep, SeesAStandstillInTheSecondRun) {
  GlobalStepFixture f;
  f.driver->steps_per_run(0);
  f.driver->step();
  EXPECT_FALSE(f.hook->step.stalled());
  f.driver->step();
  EXPECT_TRUE(f.hook->step.stalled());
  EXPECT_EQ(f.hook->step.last_fetched(), 10);
  f.driver->steps_per_run(1);
  f.driver->step();
  EXPECT_TRUE(f.hook->step.stalled());
  f.driver->step();
  EXPECT_FALSE(f.hook->step.stalled());
}

TEST(GlobalStep, ANewSessionIsNoJumpBack) {
  GlobalStepFixture f;
  f.driver->step();
  f.driver->set_global_step(3);
  f.driver->recover();
  f.driver->step();
  EXPECT_EQ(f.hook->predicted, 4);
  EXPECT_FALSE(f.hook->step.stalled());
}

}  // namespace
