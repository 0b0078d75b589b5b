// SPDX-License-Identifier: Apache-2.0
// [optimizer] groups: rates, options and clipping by groups of variables, frozen ones, and those that thaw.
#include "runtime/optimizer/variable_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "belay/ops/activations.h"
#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "belay/ops/reductions.h"
#include "plugins/default_plugins.h"
#include "runtime/optimizer/optimizer.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

OptimizerSettings settings_of(const char* name, std::vector<VariableGroup> groups) {
  OptimizerSettings s;
  s.name = name;
  s.learning_rate.learning_rate = 0.125;  // exact
  s.groups = std::move(groups);
  return s;
}

// The sum of c * x^2 / 2 over x = a/x, b/x, c/x with 1, -2 and 3 and c = 1: the gradient of each is its value.
class VariableGroups : public SessionTest {
 protected:
  void build(const OptimizerSettings& s) {
    Output loss;
    for (const auto& [name, value] : {std::pair{"a/x", 1.0}, {"b/x", -2.0}, {"c/x", 3.0}}) {
      const Output x = ops::variable(g, name, Tensor(value));
      const Output part = ops::square(x) * 0.5;
      loss = loss ? loss + part : part;
    }
    train_ = minimize(g, loss, LinkedOptimizer(s, default_plugins()).use());
    open();
    initialize();
  }
  void train(int steps) {
    for (int i = 0; i < steps; ++i) run(train_);
  }
  double x(const char* name) { return value<double>(g.find(name)); }
  std::vector<std::string> variables() {
    std::vector<std::string> names;
    for (const Variable* v : session().variables()) names.push_back(v->name);
    return names;
  }
  Output train_;
};

TEST_F(VariableGroups, TheRateOfAGroupIsScaled) {
  build(settings_of("sgd", {{.vars = "a/*", .learning_rate_scale = 0.5}, {.vars = "[b]*", .learning_rate_scale = 2}}));
  train(1);
  EXPECT_EQ(x("a/x"), 1 - 0.0625);
  EXPECT_EQ(x("b/x"), -2 + 0.25 * 2);
  EXPECT_EQ(x("c/x"), 3 - 0.125 * 3);
}

TEST_F(VariableGroups, OptionsOfAGroupAreInThePlaceOfTheOthers) {
  OptimizerSettings s = settings_of("adamw", {{.vars = "b/x", .options = {{"weight_decay", 0.0}}}});
  s.options = {{"weight_decay", 0.5}, {"epsilon", 1.0}};
  build(s);
  train(1);
  const auto adam = [](double value) {  // the first step: m and v corrected are the gradient and its square
    const double rate = 0.125 * std::sqrt(1 - 0.999) / (1 - 0.9);
    return value - rate * (0.1 * value) / (std::sqrt(0.001 * value * value) + 1);
  };
  EXPECT_NEAR(x("a/x"), adam(1) - 0.125 * 0.5 * 1, 1e-12);
  EXPECT_NEAR(x("b/x"), adam(-2), 1e-12);
}

TEST_F(VariableGroups, AGroupWithAClipNormIsClippedByItself) {
  OptimizerSettings s =
      settings_of("sgd", {{.vars = "a/x", .clip_norm = 0.5}, {.vars = "b/x", .learning_rate_scale = 0.5}});
  s.clip_norm = std::sqrt(13.0) / 2;  // of b and c together: half of their norm
  build(s);
  train(1);
  EXPECT_NEAR(x("a/x"), 1 - 0.125 * 0.5, 1e-12);
  EXPECT_NEAR(x("b/x"), -2 + 0.0625 * 1, 1e-12);
  EXPECT_NEAR(x("c/x"), 3 - 0.125 * 1.5, 1e-12);
}

TEST_F(VariableGroups, AClipNormOf0LeavesAGroupAsItIs) {
  OptimizerSettings s = settings_of("sgd", {{.vars = "c/x", .clip_norm = 0}});
  s.clip_norm = 1e-3;
  build(s);
  train(1);
  EXPECT_EQ(x("c/x"), 3 - 0.125 * 3);
  EXPECT_NEAR(x("a/x"), 1, 1e-3);
}

TEST_F(VariableGroups, AFrozenVariableHasNeitherGradientNorSlot) {
  build(settings_of("momentum", {{.vars = "b/*", .learning_rate_scale = 0}}));
  train(3);
  EXPECT_EQ(x("b/x"), -2);
  EXPECT_NE(x("a/x"), 1);
  EXPECT_THAT(variables(),
              ElementsAre("a/x", "a/x/Momentum", "b/x", "c/x", "c/x/Momentum", "global_step", "learning_rate_scale"));
  EXPECT_EQ(g.collection(collections::kGradients).size(), 2u);
}

TEST_F(VariableGroups, ThawedVariablesAreTrainedFromTheirStepOn) {
  build(settings_of("sgd", {{.vars = "a/x", .from_step = 2}, {.vars = "b/x", .from_step = 3}}));
  train(2);
  EXPECT_EQ(x("a/x"), 1);
  EXPECT_EQ(x("c/x"), 3 * 0.875 * 0.875);
  train(1);
  EXPECT_EQ(x("a/x"), 0.875);
  EXPECT_EQ(x("b/x"), -2);
  train(1);
  EXPECT_EQ(x("a/x"), 0.875 * 0.875);
  EXPECT_EQ(x("b/x"), -2 * 0.875);
  EXPECT_EQ(session().global_step(), 4);
}

// An optimizer's values for all variables belong to each group: the correction of Adam's moments begins with them.
TEST_F(VariableGroups, TheOptimizerOfAThawedGroupStartsThen) {
  OptimizerSettings s = settings_of("adam", {{.vars = "a/x", .from_step = 2}});
  build(s);
  EXPECT_THAT(variables(), ::testing::IsSupersetOf({"beta1_power", "beta1_power_1", "a/x/Adam", "b/x/Adam"}));
  train(2);
  EXPECT_NEAR(x("beta1_power"), std::pow(0.9, 3), 1e-12);
  EXPECT_EQ(x("beta1_power_1"), 0.9);
  train(1);
  EXPECT_NEAR(x("a/x"), 1 - 0.125, 1e-6) << "the first step of Adam is the rate";
}

// A program's own fetch of several things, and hooks' fetches, follow too; and going back.
TEST_F(VariableGroups, EachFetchOfTheTrainOperationFollowsTheStep) {
  build(settings_of("sgd", {{.vars = "a/x", .from_step = 1}}));
  const Output step = g.find("global_step");
  const auto both = [&] { session().handle().run({train_, step}); };
  both();
  EXPECT_EQ(x("a/x"), 1);
  both();
  EXPECT_EQ(x("a/x"), 0.875);
  session().handle().assign("global_step", Tensor(std::int64_t{0}));
  both();
  EXPECT_EQ(x("a/x"), 0.875);
  both();
  EXPECT_EQ(x("a/x"), 0.875 * 0.875);
}

TEST_F(VariableGroups, ThePlanBeforeAThawIsDroppedBehindIt) {
  build(settings_of("sgd", {{.vars = "a/x", .from_step = 2}}));
  FetchSet fetches(std::vector<FetchRef>{train_});
  RunRequest request;
  request.fetches = &fetches;
  const auto built = [&] { return session().plan_stats().plans_built; };
  session().run(request);
  const std::size_t before = session().plan_stats().arena_bytes;
  const std::uint64_t plans = built();
  session().run(request);
  EXPECT_EQ(built(), plans);
  session().run(request);
  EXPECT_EQ(built(), plans + 1);
  session().run(request);
  EXPECT_EQ(built(), plans + 1);
  EXPECT_EQ(session().plan_stats().arena_bytes, session().plan_stats(&fetches).arena_bytes);
  EXPECT_GE(session().plan_stats().arena_bytes, before);
}

TEST_F(VariableGroups, APatternWithoutAVariableIsAnErrorWithWhatThereIs) {
  EXPECT_EQ(error_of([&] {
              build(settings_of("sgd", {{.vars = "a/*"}, {.vars = "conv*"}}));
            }),
            "INVALID_ARGUMENT: optimizer.groups.1 (vars = \"conv*\") matches no trainable variable; they are a/x, b/x, "
            "c/x");
}

TEST_F(VariableGroups, AVariableInTwoGroupsIsAnError) {
  EXPECT_EQ(error_of([&] {
              build(settings_of("sgd", {{.vars = "a*"}, {.vars = "*/x"}}));
            }),
            "INVALID_ARGUMENT: optimizer.groups.1 (vars = \"*/x\") matches the variable \"a/x\", which "
            "optimizer.groups.0 (vars = \"a*\") matches, too; a variable is in one group: make one of the patterns "
            "narrower");
}

TEST_F(VariableGroups, ToTrainNothingIsAnError) {
  EXPECT_THAT(error_of([&] { build(settings_of("sgd", {{.vars = "*", .learning_rate_scale = 0}})); }),
              HasSubstr("all 3 trainable variables are frozen by optimizer.groups"));
}

TEST_F(VariableGroups, ToTrainNothingAtFirstIsAnError) {
  EXPECT_THAT(error_of([&] { build(settings_of("sgd", {{.vars = "*", .from_step = 4}})); }),
              HasSubstr("no variable is trained before step 4"));
}

// Two dense layers; the first one's weights are large.
class FrozenLayers : public SessionTest {
 protected:
  void build(std::vector<VariableGroup> groups) {
    const Output x = ops::placeholder(g, DType::kFloat32, {32, 64}, "x");
    const Output first = ops::variable(g, "first/kernel", ops::constant(g, Tensor({64, 128}, ramp(64 * 128))));
    const Output second = ops::variable(g, "second/kernel", ops::constant(g, Tensor({128, 4}, ramp(128 * 4))));
    const Output y = ops::matmul(ops::relu(ops::matmul(x, first)), second);
    train_ = minimize(g, ops::reduce_mean(ops::square(y)),
                      LinkedOptimizer(settings_of("adam", std::move(groups)), default_plugins()).use());
    open();
    initialize();
  }
  static std::vector<float> ramp(std::size_t n) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>((i * 7919) % 101) / 500 - 0.1f;
    return values;
  }
  // The names of the nodes that a step runs, and its memory.
  std::vector<std::string> step() {
    const Tensor fed({32, 64}, ramp(32 * 64));
    const std::vector<belay_feed> feeds = {{g.find("x").raw(), fed.view()}};
    FetchSet fetches(std::vector<FetchRef>{train_});
    RunRequest request;
    request.fetches = &fetches;
    request.feeds = feeds;
    session().run(request);
    std::vector<std::string> names;
    for (const PlanStage& stage : session().plan_of(fetches)->stages)
      for (const PlanStep& step : stage.steps) {
        names.push_back(step.node->name);
        for (const Node* member : step.members) names.push_back(member->name);
      }
    arena_ = session().plan_stats(&fetches).arena_bytes;
    return names;
  }
  static std::size_t count(const std::vector<std::string>& names, const std::string& part) {
    std::size_t n = 0;
    for (const std::string& name : names) n += name.find(part) != name.npos;
    return n;
  }
  Output train_;
  std::size_t arena_ = 0;
};

struct AllTrained final : FrozenLayers {
  void TestBody() override {}
  std::size_t bytes() {
    build({});
    const std::vector<std::string> names = step();
    EXPECT_GT(count(names, "update_first"), 0u);
    EXPECT_GT(count(names, "MatMul_grad"), 0u) << "the first layer's gradient";
    return arena_;
  }
};

TEST_F(FrozenLayers, TheStepHasNoNodeForTheirGradientsAndLessMemory) {
  build({{.vars = "first/*", .learning_rate_scale = 0}});
  const std::vector<float> before = values<float>(g.find("first/kernel"));
  const std::vector<std::string> names = step();
  EXPECT_EQ(count(names, "MatMul_grad"), 0u) << "of the first layer";
  EXPECT_EQ(count(names, "Relu_grad"), 0u);
  EXPECT_GT(count(names, "MatMul_1_grad"), 0u);
  EXPECT_EQ(count(names, "update_first"), 0u);
  EXPECT_EQ(values<float>(g.find("first/kernel")), before);
  EXPECT_LT(arena_, AllTrained().bytes());
}

TEST_F(FrozenLayers, UntilTheyThawTheStepHasNoNodeForTheirGradients) {
  build({{.vars = "first/*", .from_step = 1}});
  const std::vector<std::string> before = step();
  const std::size_t bytes = arena_;
  EXPECT_EQ(count(before, "MatMul_grad"), 0u);
  EXPECT_EQ(count(before, "Relu_grad"), 0u);
  const std::vector<std::string> behind = step();
  EXPECT_GT(count(behind, "MatMul_grad"), 0u);
  EXPECT_GT(count(behind, "update_first"), 0u);
  EXPECT_LT(bytes, arena_);
}

}  // namespace
}  // namespace belay::runtime::testing
