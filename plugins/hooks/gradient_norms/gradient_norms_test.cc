// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_gradient_norms;

namespace gradient_norms_test {

using namespace belay::testing;

using Scalars = std::vector<WrittenScalar>;

const belay_module& module() { return module_under_test(belay_module_gradient_norms); }

// Builds a model of two variables with scalar gradients, in the collections of the host's optimizer.
std::unique_ptr<HookDriver> driver(const OptionValues& options) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->global_step(0);
  for (const char* name : {"w", "b"}) {
    hook->tensor<float>(std::string("dense/") + name);
    hook->tensor<float>(std::string("gradients/") + name);
    hook->graph().collect("gradients", std::string("gradients/") + name);
    hook->graph().collect("gradient_variables", std::string("dense/") + name);
  }
  return hook;
}

std::unique_ptr<HookDriver> started(const OptionValues& options, const StoredState* state = nullptr,
                                    std::int64_t step = 0) {
  auto hook = driver(options);
  hook->set_global_step(step);
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  hook->session().set_value("gradient_norms/all", 5.0f);
  if (hook->graph().announced().size() > 2) {
    hook->session().set_value("gradient_norms/of/dense/w", 3.0f);
    hook->session().set_value("gradient_norms/of/dense/b", 4.0f);
  }
  return hook;
}

TEST(GradientNorms, RefusesUnusableOptions) {
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"every_n_steps", 0}});
            }),
            "INVALID_ARGUMENT: 'every_n_steps' is 0, must be >= 1");
}

TEST(GradientNorms, NeedsTheOptimizersGradients) {
  HookDriver hook(module());
  hook.global_step(0);
  EXPECT_EQ(
      error_of([&] { hook.begin(); }),
      "FAILED_PRECONDITION: the graph has no gradients: [optimizer] puts them into the collections 'gradients' and "
      "'gradient_variables'; a model with its own train operation must do it too");
}

TEST(GradientNorms, WritesTheFirstStepAndEveryNth) {
  const auto hook = started({{"every_n_steps", 3}});
  for (int i = 0; i < 7; ++i) hook->step();
  EXPECT_EQ(hook->events().scalars(), (Scalars{{"gradient_norm", 1, 5},
                                               {"gradient_norm/dense/w", 1, 3},
                                               {"gradient_norm/dense/b", 1, 4},
                                               {"gradient_norm", 4, 5},
                                               {"gradient_norm/dense/w", 4, 3},
                                               {"gradient_norm/dense/b", 4, 4},
                                               {"gradient_norm", 7, 5},
                                               {"gradient_norm/dense/w", 7, 3},
                                               {"gradient_norm/dense/b", 7, 4}}));
}

TEST(GradientNorms, FetchesNothingButTheStepInBetween) {
  const auto hook = started({{"every_n_steps", 3}});
  EXPECT_EQ(hook->step().fetched.size(), 4u);
  EXPECT_EQ(hook->step().fetched, std::vector<std::string>{"global_step"});
}

TEST(GradientNorms, OfAllTogetherAloneAndIntoTheLog) {
  const auto hook = started({{"per_variable", false}, {"log", true}});
  EXPECT_EQ(hook->step().logged, std::vector<std::string>{"info: gradient_norm 5"});
  EXPECT_EQ(hook->events().scalars(), (Scalars{{"gradient_norm", 1, 5}}));
}

// tests/e2e/hooks_that_watch_test.cc tests the size of updates with the real engine. Here nothing moves.
TEST(GradientNorms, OfTheWeightsAndTheirUpdatesToo) {
  const auto hook = driver({{"per_variable", false}, {"weights", true}, {"updates", true}, {"log", true}});
  hook->begin();
  hook->create_session();
  hook->session().set_value("gradient_norms/all", 5.0f);
  hook->session().set_value("weight_norms/all", 2.0f);
  for (const char* name : {"dense/w", "dense/b"}) hook->session().set_value(name, 1.0f);
  EXPECT_EQ(hook->step().logged, std::vector<std::string>{"info: gradient_norm 5, weight_norm 2, update_norm 0"});
  EXPECT_EQ(hook->events().scalars(), (Scalars{{"gradient_norm", 1, 5}, {"weight_norm", 1, 2}, {"update_norm", 1, 0}}));
}

TEST(GradientNorms, ASecondBeginAddsNothing) {
  const auto hook = driver({{"weights", true}, {"updates", true}});
  hook->begin();
  hook->begin_again();
}

TEST(GradientNorms, KeepsItsRhythmOverARestart) {
  const auto before = started({{"every_n_steps", 3}});
  for (int i = 0; i < 5; ++i) before->step();
  const StoredState state = before->save_state();
  const auto after = started({{"every_n_steps", 3}}, &state, 5);
  for (int i = 0; i < 3; ++i) after->step();
  ASSERT_FALSE(after->events().scalars().empty());
  EXPECT_EQ(after->events().scalars()[0].step, 7);
}

}  // namespace gradient_norms_test
