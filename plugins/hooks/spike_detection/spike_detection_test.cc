// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "belay/testing/allocations.h"
#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_spike_detection;

namespace spike_detection_test {

using namespace belay::testing;
using nlohmann::json;

const belay_module& module() { return module_under_test(belay_module_spike_detection); }

class SpikeDetection : public ::testing::Test {
 protected:
  HookDriver& started(const OptionValues& options, const StoredState* state = nullptr, std::int64_t step = 0) {
    DriverSetup setup;
    setup.run_directory = folder_.path();
    hook_ = std::make_unique<HookDriver>(module(), options, setup);
    hook_->tensor<float>("loss");
    hook_->global_step(step);
    hook_->begin();
    if (state != nullptr) hook_->load_state(*state);
    hook_->create_session();
    return *hook_;
  }
  // Makes steps whose losses have mean 2 and deviation 1.
  static void calm(HookDriver& hook, int steps) {
    for (int i = 0; i < steps; ++i) hook.step({{"loss", hook.step_number() % 2 == 0 ? 1.f : 3.f}});
  }
  json written() const {
    std::ifstream file(folder_.path() + "/spikes.json");
    return json::parse(file, nullptr, false);
  }

  const OptionValues four_{{"window", 4}, {"deviations", 3.0}};
  TemporaryFolder folder_;
  std::unique_ptr<HookDriver> hook_;
};

TEST_F(SpikeDetection, FindsAJump) {
  HookDriver& hook = started(four_);
  calm(hook, 4);
  EXPECT_TRUE(hook.step({{"loss", 4.9f}}).logged.empty());
  HookDriver& other = started(four_);
  calm(other, 4);
  EXPECT_EQ(other.step({{"loss", 6.f}}).logged,
            std::vector<std::string>{"warning: 'loss' jumps to 6 at step 5, above 5 (3 deviations of the last 4)"});
  EXPECT_EQ(written(), json::parse(R"([{"global_step": 5, "value": 6.0, "limit": 5.0}])"));
  EXPECT_EQ(other.events().scalars(), (std::vector<WrittenScalar>{{"spike/loss", 5, 6}}));
}

TEST_F(SpikeDetection, TheWindowFillsFirstAndEarlyStepsCanBeLeftOut) {
  HookDriver& hook = started(four_);
  calm(hook, 3);
  EXPECT_TRUE(hook.step({{"loss", 100.f}}).logged.empty());
  HookDriver& late = started({{"window", 4}, {"deviations", 3.0}, {"start_from_step", 6}});
  calm(late, 9);
  EXPECT_EQ(late.step({{"loss", 100.f}}).logged.size(), 1u);
}

TEST_F(SpikeDetection, OneSpikeDoesNotHideTheNext) {
  HookDriver& hook = started(four_);
  calm(hook, 4);
  EXPECT_EQ(hook.step({{"loss", 1000.f}}).logged.size(), 1u);
  EXPECT_EQ(hook.step({{"loss", 1000.f}}).logged.size(), 1u);
}

TEST_F(SpikeDetection, StopsOrFails) {
  HookDriver& stops = started({{"window", 4}, {"deviations", 3.0}, {"action", std::string("stop")}});
  calm(stops, 4);
  EXPECT_TRUE(stops.step({{"loss", 6.f}}).stop_asked);
  HookDriver& fails = started({{"window", 4}, {"deviations", 3.0}, {"action", std::string("fail")}});
  calm(fails, 4);
  EXPECT_EQ(error_of([&] {
              fails.step({{"loss", 6.f}});
            }),
            "DIVERGED: 'loss' jumps to 6 at step 5, above 5 (3 deviations of the last 4)");
}

TEST_F(SpikeDetection, WhatIsNotFiniteIsLeftToOthers) {
  HookDriver& hook = started(four_);
  calm(hook, 4);
  EXPECT_TRUE(hook.step({{"loss", std::numeric_limits<float>::quiet_NaN()}}).logged.empty());
  EXPECT_EQ(hook.step({{"loss", 6.f}}).logged.size(), 1u);
}

TEST_F(SpikeDetection, AResumedRunHasTheWindowAndTheList) {
  HookDriver& before = started(four_);
  calm(before, 4);
  before.step({{"loss", 6.f}});
  const StoredState state = before.save_state();
  HookDriver& after = started(four_, &state, 5);
  EXPECT_EQ(after.step({{"loss", 1000.f}}).logged.size(), 1u);
  EXPECT_EQ(written().size(), 2u);
}

TEST_F(SpikeDetection, AllocatesNothing) {
  HookDriver& hook = started(four_);
  calm(hook, 6);
  hook.probe_with(allocations);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(hook.step().probed, 0u);
}

}  // namespace spike_detection_test
