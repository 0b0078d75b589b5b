// SPDX-License-Identifier: Apache-2.0
// tests/e2e/hooks_that_watch_test.cc tests the numbers with the real engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_activation_stats;

namespace activation_stats_test {

using namespace belay::testing;
using ::testing::ElementsAre;

using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_activation_stats); }

// Builds x -> Relu act -> loss, and the separate tensor y.
std::unique_ptr<HookDriver> driver(const OptionValues& options, std::int64_t step = 0) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->graph().op("Const", belay::DType::kFloat32, belay::Dims{});
  hook->global_step(step);
  hook->tensor<float>("y");
  hook->tensor<std::int64_t>("labels");
  const belay::Output x = hook->tensor<float>("x");
  const belay::Graph graph = hook->graph().handle();
  const belay::Output act = graph.node("Relu", "act").in(x).output();
  graph.node("Mean", "loss").in(graph.node("Add", "both").in(act).in(x).output()).output();
  return hook;
}

std::unique_ptr<HookDriver> started(const OptionValues& options, const std::string& name = "act",
                                    const StoredState* state = nullptr, std::int64_t step = 0) {
  auto hook = driver(options, step);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  const std::string prefix = "activation_stats/" + name;
  hook->session().set_value(prefix + "/mean", 1.f);
  hook->session().set_value(prefix + "/deviation", 2.f);
  hook->session().set_value(prefix + "/zeros", 0.25f);
  return hook;
}

std::vector<WrittenScalar> points(const std::string& name, std::int64_t step) {
  const std::string prefix = "activation/" + name;
  return {{prefix + "/mean", step, 1}, {prefix + "/deviation", step, 2}, {prefix + "/zeros", step, 0.25}};
}

TEST(ActivationStats, FindsTheActivationsBeforeTheLoss) {
  EXPECT_EQ(started({})->step().fetched.size(), 4u);
  const auto hook = started({});
  hook->step();
  EXPECT_EQ(hook->events().scalars(), points("act", 1));
}

TEST(ActivationStats, OrThoseThatAreNamed) {
  const auto hook = started({{"tensors", Texts{"y"}}}, "y");
  hook->step();
  EXPECT_EQ(hook->events().scalars(), points("y", 1));
  EXPECT_EQ(error_of([] {
              driver({{"tensors", Texts{"labels"}}})->begin();
            }),
            "INVALID_ARGUMENT: activation_stats measures floating-point tensors, 'labels:0' (int64 []) is none");
}

TEST(ActivationStats, AGraphWithoutOneIsAWarning) {
  HookDriver hook(module());
  hook.global_step(0);
  hook.tensor<float>("loss");
  hook.begin();
  EXPECT_EQ(hook.logged(),
            Texts{"warning: nothing is measured: the loss depends on no activation function that is known here; name "
                  "tensors in 'tensors'"});
}

TEST(ActivationStats, AResumedRunKeepsTheRhythm) {
  const auto before = started({{"every_n_steps", 4}});
  for (int i = 0; i < 3; ++i) before->step();
  const StoredState state = before->save_state();
  const auto after = started({{"every_n_steps", 4}}, "act", &state, 3);
  for (int i = 0; i < 3; ++i) after->step();
  EXPECT_EQ(after->events().scalars(), points("act", 5));
}

TEST(ActivationStats, ASecondBeginAddsNothing) {
  const auto hook = driver({});
  hook->begin();
  hook->begin_again();
}

TEST(ActivationStats, BetweenTwoLooksItAllocatesNothing) {
  const auto hook = started({});
  hook->step();
  hook->step();
  hook->probe_with(allocations);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(hook->step().probed, 0u);
}

}  // namespace activation_stats_test
