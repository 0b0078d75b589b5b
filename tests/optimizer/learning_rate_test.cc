// SPDX-License-Identifier: Apache-2.0
#include "runtime/optimizer/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "plugins/default_plugins.h"
#include "runtime/optimizer/optimizer.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

class LearningRateTest : public SessionTest {
 protected:
  Output add(const LearningRate& rate, const Output& step) {
    return add_learning_rate(g, rate, step, LinkedOptimizer({.learning_rate = rate}, default_plugins()).use().schedule);
  }
  void build(const LearningRate& rate) {
    rate_ = add(rate, ops::create_global_step(g));
    open();
    initialize();
  }
  double at(std::int64_t step) {
    store->assign("global_step", Tensor(step));
    return value<float>(rate_);
  }
  // Against a float64 formula of the step, at the steps where something may change and far beyond.
  void check(const LearningRate& rate, const std::function<double(double)>& formula) {
    build(rate);
    for (const std::int64_t step : std::vector<std::int64_t>{
             0, 1, 2, 9, 10, 11, 99, 100, 101, 150, 199, 200, 201, 250, 300, 301, 999, 1000, 1001, 123457, 16777217}) {
      const double wanted = formula(static_cast<double>(step));
      EXPECT_NEAR(at(step), wanted, 1e-6 * std::fabs(wanted) + 1e-45) << "step " << step;
    }
  }
  static LearningRate schedule(const char* name, const std::vector<PluginOption>& options = {}) {
    LearningRate rate{.schedule = name, .options = options};
    if (rate.schedule != "piecewise_constant") rate.learning_rate = 0.3;
    if (rate.schedule.ends_with("_decay")) rate.options.push_back({"decay_steps", std::int64_t{100}});
    return rate;
  }

  Output rate_;
};

TEST_F(LearningRateTest, ANumberIsConstant) {
  LearningRate rate;
  rate.learning_rate = 0.25;
  check(rate, [](double) { return 0.25; });
}

TEST_F(LearningRateTest, ConstantIsAScheduleToo) {
  check(schedule("constant"), [](double) { return 0.3; });
}

TEST_F(LearningRateTest, ExponentialDecay) {
  LearningRate rate = schedule("exponential_decay", {{"decay_rate", 0.7}});
  check(rate, [](double t) { return 0.3 * std::pow(0.7, t / 100); });
}

TEST_F(LearningRateTest, ExponentialDecayInSteps) {
  LearningRate rate = schedule("exponential_decay", {{"decay_rate", 0.7}, {"staircase", true}});
  check(rate, [](double t) { return 0.3 * std::pow(0.7, std::floor(t / 100)); });
}

TEST_F(LearningRateTest, NaturalExponentialDecay) {
  LearningRate rate = schedule("natural_exp_decay", {{"decay_rate", 0.7}});
  check(rate, [](double t) { return 0.3 * std::exp(-0.7 * t / 100); });
}

TEST_F(LearningRateTest, InverseTimeDecay) {
  LearningRate rate = schedule("inverse_time_decay", {{"decay_rate", 0.7}});
  check(rate, [](double t) { return 0.3 / (1 + 0.7 * t / 100); });
}

TEST_F(LearningRateTest, InverseTimeDecayInSteps) {
  LearningRate rate = schedule("inverse_time_decay", {{"decay_rate", 0.7}, {"staircase", true}});
  check(rate, [](double t) { return 0.3 / (1 + 0.7 * std::floor(t / 100)); });
}

TEST_F(LearningRateTest, AConstantWarmsUp) {
  LearningRate rate = schedule("constant");
  rate.warmup_steps = 100;
  check(rate, [](double t) { return 0.3 * std::min(1.0, (t + 1) / 100); });
}

TEST_F(LearningRateTest, AScheduleWarmsUp) {
  LearningRate rate = schedule("cosine_decay");
  rate.warmup_steps = 10;
  check(rate, [](double t) {
    return 0.3 * 0.5 * (1 + std::cos(std::numbers::pi * std::min(t, 100.0) / 100)) * std::min(1.0, (t + 1) / 10);
  });
}

TEST_F(LearningRateTest, PiecewiseConstant) {
  LearningRate rate = schedule("piecewise_constant", {{"boundaries", std::vector<std::int64_t>{10, 100, 200}},
                                                      {"values", std::vector<double>{1, 0.5, 0.1, 0.01}}});
  check(rate, [](double t) { return t <= 10 ? 1 : (t <= 100 ? 0.5 : (t <= 200 ? 0.1 : 0.01)); });
}

TEST_F(LearningRateTest, PiecewiseConstantOfOneValue) {
  LearningRate rate = schedule("piecewise_constant", {{"values", std::vector<double>{0.2}}});
  check(rate, [](double) { return 0.2; });
}

TEST_F(LearningRateTest, PolynomialDecay) {
  LearningRate rate = schedule("polynomial_decay", {{"end_learning_rate", 0.02}, {"power", 1.5}});
  check(rate, [](double t) { return (0.3 - 0.02) * std::pow(1 - std::min(t, 100.0) / 100, 1.5) + 0.02; });
}

TEST_F(LearningRateTest, PolynomialDecayInCycles) {
  LearningRate rate = schedule("polynomial_decay", {{"end_learning_rate", 0.02}, {"power", 2.0}, {"cycle", true}});
  check(rate, [](double t) {
    const double d = 100 * std::max(1.0, std::ceil(t / 100));
    return (0.3 - 0.02) * std::pow(1 - t / d, 2) + 0.02;
  });
}

TEST_F(LearningRateTest, CosineDecay) {
  LearningRate rate = schedule("cosine_decay", {{"alpha", 0.1}});
  check(rate, [](double t) {
    return 0.3 * ((1 - 0.1) * 0.5 * (1 + std::cos(std::numbers::pi * std::min(t, 100.0) / 100)) + 0.1);
  });
}

TEST_F(LearningRateTest, IsScaledByASavedVariable) {
  LearningRate rate;
  rate.learning_rate = 0.5;
  build(rate);
  EXPECT_EQ(at(0), 0.5);
  store->assign(kLearningRateScale, Tensor(0.25f));
  EXPECT_EQ(at(0), 0.125);
  std::vector<std::string> saved, trained;
  for (const Output& v : g.collection(collections::kGlobalVariables)) saved.push_back(g.node_name_of(v));
  EXPECT_EQ(saved, (std::vector<std::string>{"global_step", "learning_rate_scale"}));
  EXPECT_EQ(g.collection_size(collections::kTrainableVariables), 0u);
}

TEST_F(LearningRateTest, IsFoundByNameAndInItsCollection) {
  build(LearningRate());
  EXPECT_EQ(g.find("learning_rate"), rate_);
  EXPECT_EQ(g.collection("learning_rate"), std::vector<Output>{rate_});
  EXPECT_EQ(rate_.dtype(), DType::kFloat32);
  EXPECT_EQ(rate_.rank(), 0);
}

TEST_F(LearningRateTest, AScheduleThatCannotBeIsNamed) {
  const Output step = ops::create_global_step(g);
  const auto error = [&](const LearningRate& rate) { return error_of([&] { add(rate, step); }); };
  EXPECT_EQ(error(schedule("cosine_decai")),
            "NOT_FOUND: [B2039] there is no schedule \"cosine_decai\" among the session's plugins; did you mean "
            "\"cosine_decay\"?");
  EXPECT_EQ(error({.schedule = "cosine_decay", .options = {{"decay_steps", std::int64_t{0}}}}),
            "INVALID_ARGUMENT: the schedule's options: error[B2033]: \"decay_steps\" is 0, must be at least 1\n"
            "  help: decay_steps: step at which the rate is alpha * learning_rate\n");
  EXPECT_EQ(
      error({.schedule = "piecewise_constant", .learning_rate = 0.1, .options = {{"values", std::vector<double>{1}}}}),
      "INVALID_ARGUMENT: schedule \"piecewise_constant\" (linked in, 1.0.0) in build: piecewise_constant has its "
      "rates in values; take learning_rate away");
}

}  // namespace
}  // namespace belay::runtime::testing
