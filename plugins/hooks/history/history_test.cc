// SPDX-License-Identifier: Apache-2.0
#include <belay/hooks/history.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "belay/testing/allocations.h"
#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_history;

namespace history_test {

using namespace belay::testing;
using nlohmann::json;
using ::testing::ElementsAre;

using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_history); }

class History : public ::testing::Test {
 protected:
  HookDriver& started(OptionValues options, const StoredState* state = nullptr, std::int64_t step = 0) {
    DriverSetup setup;
    setup.run_directory = folder_.path();
    hook_ = std::make_unique<HookDriver>(module(), options, setup);
    return begun(*hook_, state, step);
  }
  static HookDriver& begun(HookDriver& hook, const StoredState* state = nullptr, std::int64_t step = 0) {
    hook.tensor<float>("loss");
    hook.tensor<float>("accuracy");
    hook.global_step(step);
    hook.begin();
    if (state != nullptr) hook.load_state(*state);
    hook.create_session();
    return hook;
  }
  // The loss equals the step.
  static void run(HookDriver& hook, int steps) {
    for (int i = 0; i < steps; ++i) hook.step({{"loss", static_cast<float>(hook.step_number() + 1)}});
  }
  json written() const {
    std::ifstream file(folder_.path() + "/history.json");
    return json::parse(file, nullptr, false);
  }

  TemporaryFolder folder_;
  std::unique_ptr<HookDriver> hook_;
};

TEST_F(History, WritesWhatTheScalarsWere) {
  HookDriver& hook = started({{"tensors", Texts{"loss"}}, {"every_n_steps", 2}});
  run(hook, 5);
  hook.end();
  EXPECT_EQ(written(), json::parse(R"({"global_step": [1, 3, 5], "loss": [1.0, 3.0, 5.0]})"));
}

TEST_F(History, AnErrorLeavesIt) {
  HookDriver& hook = started({{"tensors", Texts{"loss"}}});
  hook.step({{"loss", std::numeric_limits<float>::quiet_NaN()}});
  hook.error(belay::Error(belay::Code::kDiverged, "loss"));
  EXPECT_EQ(written(), json::parse(R"({"global_step": [1], "loss": ["NaN"]})"));
}

TEST_F(History, WhereItIsFullEverySecondPointIsDropped) {
  HookDriver& hook = started({{"tensors", Texts{"loss"}}, {"capacity", 4}});
  run(hook, 4);
  run(hook, 1);
  run(hook, 7);
  hook.end();
  EXPECT_EQ(written().at("global_step"), json::parse("[1, 5, 9]"));
}

TEST_F(History, AResumedRunHasThePointsOfTheAttemptsBefore) {
  const OptionValues options{{"tensors", Texts{"loss"}}, {"every_n_steps", 2}, {"capacity", 4}};
  HookDriver& whole = started(options);
  run(whole, 20);
  whole.end();
  const json expected = written();
  for (const int killed_at : {1, 6, 7, 8, 13}) {
    HookDriver& before = started(options);
    run(before, killed_at);
    const StoredState state = before.save_state();
    HookDriver& after = started(options, &state, killed_at);
    run(after, 20 - killed_at);
    after.end();
    EXPECT_EQ(written(), expected) << killed_at;
  }
}

TEST_F(History, AScalarThatWasAddedSinceHasNoOldPoints) {
  HookDriver& before = started({{"tensors", Texts{"loss"}}});
  run(before, 2);
  const StoredState state = before.save_state();
  HookDriver& after = started({{"tensors", Texts{"loss", "accuracy"}}}, &state, 2);
  after.step({{"loss", 3.f}, {"accuracy", 0.5f}});
  after.end();
  EXPECT_EQ(written(), json::parse(R"({"global_step": [1, 2, 3], "loss": [1.0, 2.0, 3.0],
                                       "accuracy": ["NaN", "NaN", 0.5]})"));
}

TEST_F(History, ARecoveryForgetsTheStepsThatComeAgain) {
  HookDriver& hook = started({{"tensors", Texts{"loss"}}});
  run(hook, 2);
  hook.save();
  run(hook, 2);
  hook.recover();
  run(hook, 1);
  hook.end();
  EXPECT_EQ(written().at("global_step"), json::parse("[1, 2, 3]"));
}

TEST_F(History, AWarmStepAllocatesNothing) {
  HookDriver& hook = started({{"tensors", Texts{"loss", "accuracy"}}, {"every_n_steps", 5}});
  hook.step({{"loss", 1.f}, {"accuracy", 1.f}});
  hook.step();
  hook.probe_with(allocations);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(hook.step().probed, 0u);
}

TEST_F(History, AProgramReadsItsOwn) {
  auto object = std::make_unique<belay::History>(Texts{"loss"}, 2);
  const belay::History& history = *object;
  HookDriver hook(std::move(object));
  begun(hook);
  run(hook, 3);
  EXPECT_THAT(history.steps(), ElementsAre(1, 3));
  EXPECT_THAT(history.values("loss"), ElementsAre(1, 3));
  EXPECT_EQ(error_of([&] { history.values("los"); }), "NOT_FOUND: the history has no 'los'");
}

TEST_F(History, RefusesAPathAndNoTensors) {
  EXPECT_EQ(error_of([&] {
              started({{"tensors", Texts{"loss"}}, {"output_file", std::string("a/b")}});
            }),
            "INVALID_ARGUMENT: 'output_file' is 'a/b'; give a name without '/'");
  EXPECT_EQ(error_of([&] {
              started({{"tensors", Texts{}}});
            }),
            "INVALID_ARGUMENT: 'tensors' is empty: name at least one scalar");
}

}  // namespace history_test
