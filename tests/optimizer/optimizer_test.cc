// SPDX-License-Identifier: Apache-2.0
#include "runtime/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "belay/ops/reductions.h"
#include "belay/ops/training.h"
#include "plugins/default_plugins.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

// Minimizes sum(c * x^2) / 2 for x = (1, -2), c = (1, 3), in float64; the gradient is c * x.
class OptimizerTest : public SessionTest {
 protected:
  static OptimizerSettings section(const char* name) {
    OptimizerSettings s;
    s.name = name;
    s.learning_rate.learning_rate = 0.125;  // exact in float32
    return s;
  }
  static Output minimized(const belay::Graph& graph, const Output& loss, const OptimizerSettings& s) {
    return minimize(graph, loss, LinkedOptimizer(s, default_plugins()).use());
  }
  void build(const OptimizerSettings& s) {
    x_ = ops::variable(g, "x", Tensor({2}, {1.0, -2.0}));
    const Output loss = ops::reduce_sum(ops::square(x_) * ops::constant(g, Tensor({2}, {0.5, 1.5})));
    train_ = minimized(g, loss, s);
    open();
    initialize();
  }
  void train(int steps) {
    for (int i = 0; i < steps; ++i) run(train_);
  }
  void expect_x(double first, double second) {
    const std::vector<double> x = values<double>(x_);
    EXPECT_NEAR(x[0], first, 1e-14);
    EXPECT_NEAR(x[1], second, 1e-14);
  }
  static std::vector<std::string> names(const belay::Graph& graph, const char* collection) {
    std::vector<std::string> all;
    for (const Output& o : graph.collection(collection)) all.push_back(graph.node_name_of(o));
    return all;
  }

  Output x_, train_;
};

TEST_F(OptimizerTest, GradientDescentFollowsItsFormula) {
  build(section("sgd"));
  train(1);
  expect_x(1 - 0.125 * 1, -2 + 0.125 * 6);
  train(1);
  expect_x(0.875 - 0.125 * 0.875, -1.25 + 0.125 * 3.75);
}

TEST_F(OptimizerTest, MomentumFollowsItsFormula) {
  OptimizerSettings s = section("momentum");
  s.options = {{"momentum", 0.5}};
  build(s);
  train(1);  // accum = gradient
  expect_x(0.875, -1.25);
  train(1);  // accum = 0.5 * (1, -6) + (0.875, -3.75)
  expect_x(0.875 - 0.125 * 1.375, -1.25 + 0.125 * 6.75);
  EXPECT_EQ(values<double>(g.find("x/Momentum")), (std::vector<double>{1.375, -6.75}));
}

TEST_F(OptimizerTest, NesterovLooksAhead) {
  OptimizerSettings s = section("momentum");
  s.options = {{"momentum", 0.5}, {"use_nesterov", true}};
  build(s);
  train(1);  // x -= rate * (gradient + 0.5 * accum)
  expect_x(1 - 0.125 * 1.5, -2 + 0.125 * 9);
  train(1);  // accum = 0.5 * (1, -6) + (0.8125, -2.625)
  expect_x(0.8125 - 0.125 * (0.8125 + 0.5 * 1.3125), -0.875 + 0.125 * (2.625 + 0.5 * 5.625));
}

TEST_F(OptimizerTest, AdamFollowsItsFormula) {
  OptimizerSettings s = section("adam");
  s.options = {{"beta1", 0.75}, {"beta2", 0.9375}, {"epsilon", 0.5}};
  build(s);
  double x[] = {1, -2}, m[] = {0, 0}, v[] = {0, 0};
  const double c[] = {1, 3};
  for (int t = 1; t <= 4; ++t) {
    const double rate = 0.125 * std::sqrt(1 - std::pow(0.9375, t)) / (1 - std::pow(0.75, t));
    for (int i = 0; i < 2; ++i) {
      const double gradient = c[i] * x[i];
      m[i] = 0.75 * m[i] + 0.25 * gradient;
      v[i] = 0.9375 * v[i] + 0.0625 * gradient * gradient;
      x[i] -= rate * m[i] / (std::sqrt(v[i]) + 0.5);
    }
    train(1);
    expect_x(x[0], x[1]);
    EXPECT_EQ(value<double>(g.find("beta1_power")), std::pow(0.75, t + 1));
    EXPECT_EQ(value<double>(g.find("beta2_power")), std::pow(0.9375, t + 1));
  }
  const std::vector<double> moments = values<double>(g.find("x/Adam")), squares = values<double>(g.find("x/Adam_1"));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(moments[i], m[i], 1e-14);
    EXPECT_NEAR(squares[i], v[i], 1e-14);
  }
}

TEST_F(OptimizerTest, EachStepAdvancesTheGlobalStepByOne) {
  build(section("sgd"));
  EXPECT_EQ(session().global_step(), 0);
  train(3);
  EXPECT_EQ(session().global_step(), 3);
}

TEST_F(OptimizerTest, AScheduleSeesTheStepsTaken) {
  OptimizerSettings s = section("sgd");
  s.learning_rate.schedule = "piecewise_constant";
  s.learning_rate.learning_rate.reset();
  s.learning_rate.options = {{"boundaries", std::vector<std::int64_t>{0}},
                             {"values", std::vector<double>{0.125, 0.25}}};
  build(s);
  train(1);
  expect_x(1 - 0.125, -2 + 0.125 * 6);
  train(1);
  expect_x(0.875 - 0.25 * 0.875, -1.25 + 0.25 * 3.75);
}

TEST_F(OptimizerTest, ClipNormScalesAllGradientsTogether) {
  OptimizerSettings s = section("sgd");
  s.clip_norm = 0.5;
  build(s);
  train(1);
  const double norm = std::sqrt(1.0 + 36);
  expect_x(1 - 0.125 * 0.5 / norm, -2 + 0.125 * 6 * 0.5 / norm);
}

TEST_F(OptimizerTest, ClipNormLeavesSmallGradientsAlone) {
  OptimizerSettings s = section("sgd");
  s.clip_norm = 100;
  build(s);
  train(1);
  expect_x(0.875, -1.25);
}

TEST_F(OptimizerTest, ClipValueLimitsEachElementAfterTheNorm) {
  OptimizerSettings s = section("sgd");
  s.clip_value = 2;
  s.clip_norm = std::sqrt(37.0) / 2;  // halves the gradients (1, -6)
  build(s);
  train(1);
  expect_x(1 - 0.125 * 0.5, -2 + 0.125 * 2);
}

TEST_F(OptimizerTest, B_18j_NamesAndCollectionsAreTensorFlows) {
  const Output x = ops::placeholder(g, DType::kFloat32, {-1, 3}, "x");
  const Output loss = ops::reduce_mean(ops::square(ops::dense(x, 2)));
  OptimizerSettings s = section("adam");
  s.clip_norm = 1, s.clip_value = 1;
  const Output train = minimized(g, loss, s);
  EXPECT_EQ(names(g, collections::kTrainableVariables), (std::vector<std::string>{"dense/kernel", "dense/bias"}));
  EXPECT_EQ(names(g, collections::kGlobalVariables),
            (std::vector<std::string>{"dense/kernel", "dense/bias", "global_step", "learning_rate_scale",
                                      "dense/kernel/Adam", "dense/bias/Adam", "dense/kernel/Adam_1",
                                      "dense/bias/Adam_1", "beta1_power", "beta2_power"}));
  EXPECT_TRUE(train.is_operation());
  EXPECT_EQ(g.collection(collections::kTrainOp), std::vector<Output>{train});
  EXPECT_EQ(names(g, "learning_rate"), std::vector<std::string>{"learning_rate"});
}

TEST_F(OptimizerTest, VariablesWithoutAGradientAreLeftAlone) {
  const Output other = ops::variable(g, "other", Tensor({2}, {5.0, 6.0}));
  build(section("momentum"));
  train(2);
  EXPECT_EQ(values<double>(other), (std::vector<double>{5, 6}));
  EXPECT_FALSE(g.find_if_exists("other/Momentum"));
}

TEST_F(OptimizerTest, B_18j_Float32TrainsInOneFusedPassToTheSameNumbers) {
  const Output a = ops::variable(g, "a", Tensor({2}, {1.0f, -2.0f})), b = ops::variable(g, "b", Tensor({1}, {0.5f}));
  const Output loss = ops::reduce_sum(ops::square(a)) + ops::reduce_sum(ops::square(b));
  OptimizerSettings s = section("momentum");
  s.options = {{"momentum", 0.5}};
  const Output train_op = minimized(g, loss, s);
  open();
  initialize();
  run(train_op);
  run(train_op);
  // By hand: the gradient is 2 x, so x = 0.75 x0 after the first step; accum = 0.5 * 2 x0 + 1.5 x0 = 2.5 x0.
  EXPECT_EQ(values<float>(a), (std::vector<float>{0.4375f, -0.875f}));
  EXPECT_EQ(values<float>(b), std::vector<float>{0.21875f});
}

TEST_F(OptimizerTest, WrongUseIsNamed) {
  const Output constant = ops::constant(g, Tensor(1.0f), "one");
  EXPECT_EQ(
      error_of([&] { minimized(g, constant, section("sgd")); }),
      "INVALID_ARGUMENT: the graph has no trainable variables: there is nothing that could lower the loss 'one:0'");
  const Output v = ops::variable(g, "v", Tensor({2}, {1.0f, 2.0f}));
  EXPECT_EQ(error_of([&] { minimized(g, constant, section("sgd")); }),
            "INVALID_ARGUMENT: the loss 'one:0' depends on none of the 1 trainable variables; the first is 'v'");
  EXPECT_EQ(error_of([&] { minimized(g, ops::square(v, "many"), section("sgd")); }),
            "INVALID_ARGUMENT: the loss 'many:0' (float32 [2]) must be a floating-point scalar; take its mean or sum");
  EXPECT_EQ(error_of([&] { minimized(g, ops::no_op(g, "nothing"), section("sgd")); }),
            "INVALID_ARGUMENT: the loss 'nothing' must be a floating-point scalar; take its mean or sum");
  const Output loss = ops::reduce_sum(v);
  EXPECT_EQ(error_of([&] { minimized(g, loss, section("adamm")); }),
            "NOT_FOUND: [B2039] there is no optimizer \"adamm\" among the session's plugins; did you mean \"adam\"?");
  const std::string newton = error_of([&] { minimized(g, loss, section("newton")); });
  EXPECT_EQ(newton.find("NOT_FOUND: [B2039] there is no optimizer \"newton\" among the session's plugins; there are: "),
            0u);
  EXPECT_NE(newton.find("; add its belay_module to the plugins that the program gives"), newton.npos) << newton;
  OptimizerSettings misspelt = section("momentum");
  misspelt.options = {{"momentm", 0.5}};
  EXPECT_EQ(error_of([&] { minimized(g, loss, misspelt); }),
            "INVALID_ARGUMENT: the optimizer's options: error[B2030]: \"momentm\" is not an option of optimizer "
            "\"momentum\"\n"
            "  help: did you mean \"momentum\"? options: momentum, use_nesterov\n");
  const Output w = ops::variable(g, "w", Tensor(1.0));
  EXPECT_EQ(
      error_of([&] { minimized(g, loss + ops::cast(w, DType::kFloat32), section("sgd")); }),
      "INVALID_ARGUMENT: the trainable variables 'v:0' (float32 [2]) and 'w:0' (float64 []) must have the same dtype");
}

// The elements of a float TensorProto in the folder, which are at the file's end.
std::vector<float> elements_at_end(const std::filesystem::path& file, std::size_t n) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  std::vector<float> values(n, NAN);
  if (bytes.size() >= n * sizeof(float))
    std::memcpy(values.data(), bytes.data() + bytes.size() - n * sizeof(float), n * sizeof(float));
  return values;
}

// ONNX's reference data of its Adam operator at T = 0, which corrects no bias there: ours with both powers at 0. Its
// norm coefficient 0.001 adds 0.001 * x to the gradient; alpha, beta and epsilon are 0.95, 0.1 and 1e-7.
TEST_F(OptimizerTest, AdamAgreesWithOnnxsReference) {
  const char* given = std::getenv("BELAY_SAMPLES_DIR");
  const std::filesystem::path samples = given != nullptr ? given : BELAY_SOURCE_DIR "/../shared/samples";
  const std::filesystem::path data = samples / "onnx/test_adam/test_data_set_0";
  if (!std::filesystem::exists(data))
    GTEST_SKIP() << "no reference data in " << data << "; set BELAY_SAMPLES_DIR to the folder of samples";
  const auto read = [&](const char* name, std::size_t n) { return elements_at_end(data / name, n); };
  const std::vector<float> rate = read("input_0.pb", 1), x = read("input_2.pb", 2), gradient = read("input_3.pb", 2);
  const auto variable = [&](const char* name, const std::vector<float>& v) {
    return ops::variable(g, name, Tensor({2}, v));
  };
  const Output var = variable("x", x), m = variable("v", read("input_4.pb", 2)),
               v = variable("h", read("input_5.pb", 2));
  const Output zero = ops::constant(g, Tensor(0.0f));
  const Output update = ops::apply_adam(
      var, m, v, zero, zero, ops::constant(g, Tensor(rate[0])),
      ops::constant(g, Tensor({2}, {gradient[0] + 0.001f * x[0], gradient[1] + 0.001f * x[1]})), {0.95, 0.1, 1e-7});
  open();
  initialize();
  run(update.operation());
  const auto expect_close = [&](const Output& variable_now, const char* file) {
    const std::vector<float> got = values<float>(variable_now), wanted = read(file, 2);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(got[i], wanted[i], 1e-6 * std::fabs(wanted[i])) << file;
  };
  expect_close(var, "output_0.pb");
  expect_close(m, "output_1.pb");
  expect_close(v, "output_2.pb");
}

}  // namespace
}  // namespace belay::runtime::testing
