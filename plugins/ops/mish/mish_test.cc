// SPDX-License-Identifier: Apache-2.0
#include <belay/testing/node_driver.h>
#include <belay/testing/testing.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

extern "C" const belay_module belay_module_mish;

namespace mish_test {

using namespace belay::testing;
using belay::DType;
using belay::Tensor;
using belay::TensorView;

const belay_module& module() { return module_under_test(belay_module_mish); }
DriverSetup plugin(const std::string& name) {
  DriverSetup setup;
  setup.plugin = name;
  return setup;
}

// Computes the definition of the books, which is exact enough in float64.
double by_definition(double x) { return x * std::tanh(std::log1p(std::exp(x))); }

std::vector<double> spread(std::size_t n) {
  std::vector<double> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(-30 + 60.0 * static_cast<double>(i) / static_cast<double>(n));
  return values;
}

TEST(Mish, KeepsTypeAndShape) {
  OpDriver op(module(), {}, plugin("mish"));
  EXPECT_EQ(op.infer({{DType::kFloat32, {-1, 3}}}), "float32 [?, 3]");
  EXPECT_EQ(op.infer({{DType::kFloat64, {}}}), "float64 []");
  EXPECT_EQ(op.infer({{DType::kFloat32, {}, false}}), "float32 [...]");
}

TEST(Mish, RefusesWhatItCannotCompute) {
  OpDriver op(module(), {}, plugin("mish")), grad(module(), {}, plugin("mish_grad"));
  EXPECT_EQ(error_of([&] {
              op.infer({{DType::kInt32, {2}}});
            }),
            "INVALID_ARGUMENT: input 0 (int32 [2]) must be float32 or float64");
  EXPECT_EQ(error_of([&] {
              grad.infer({{DType::kFloat32, {2}}, {DType::kFloat64, {2}}});
            }),
            "INVALID_ARGUMENT: input 0 (float32 [2]) and input 1 (float64 [2]) must have the same dtype");
  EXPECT_EQ(error_of([&] {
              grad.infer({{DType::kFloat32, {2, -1}}, {DType::kFloat32, {3, 4}}});
            }),
            "INVALID_ARGUMENT: input 0 (float32 [2, ?]) and input 1 (float32 [3, 4]) must have the same shape");
}

TEST(Mish, IsWhatBooksSay) {
  OpDriver op(module(), {}, plugin("mish"));
  const std::vector<double> x = spread(601);
  const std::vector<float> x32(x.begin(), x.end());
  const Tensor y = op.run({Tensor({601}, x)})[0], y32 = op.run({Tensor({601}, x32)})[0];
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(TensorView(y).number(i), by_definition(x[i]), 1e-13 * std::max(1.0, std::abs(x[i]))) << x[i];
    EXPECT_NEAR(TensorView(y32).number(i), by_definition(x32[i]), 2e-6 * std::max(1.0, std::abs(x[i]))) << x[i];
  }
}

TEST(Mish, KeepsInfinitiesAndNaN) {
  OpDriver op(module(), {}, plugin("mish"));
  const Tensor y = op.run({Tensor({3}, {HUGE_VALF, -200.f, std::nanf("")})})[0];
  EXPECT_EQ(TensorView(y).number(0), HUGE_VAL);
  EXPECT_EQ(TensorView(y).number(1), 0);
  EXPECT_TRUE(std::isnan(TensorView(y).number(2)));
}

TEST(Mish, IsTheSameOnTwoThreads) {
  OpDriver op(module(), {}, plugin("mish"));
  for (const std::int64_t n : {0, 1, 17, 4095, 4097, 10'000}) {
    const std::vector<double> values = spread(static_cast<std::size_t>(n));
    const Tensor x({n}, std::vector<float>(values.begin(), values.end()));
    op.threads = 1;
    const Tensor one = op.run({x})[0];
    op.threads = 2;
    const Tensor two = op.run({x})[0];
    for (std::size_t i = 0; i < one.size(); ++i)
      ASSERT_EQ(TensorView(one).number(i), TensorView(two).number(i)) << n << " " << i;
  }
}

TEST(Mish, GradientAgreesWithFiniteDifferences) {
  for (const double scale : {0.1, 1.0, 8.0}) {
    NodeDriver node(module(), "Mish");
    node.input(DType::kFloat64, {-1});
    node.build();
    std::vector<double> x = spread(61);
    for (double& v : x) v *= scale / 10;
    EXPECT_LT(node.worst_gradient_error({Tensor({61}, x)}, 61), 1e-8) << scale;
  }
}

TEST(Mish, GradientOfTheGradientIsNotThere) {
  NodeDriver node(module(), "MishGrad");
  node.input(DType::kFloat32, {2});
  node.input(DType::kFloat32, {2});
  node.build();
  EXPECT_EQ(node.gradient_error(), "no gradient is defined for operation 'MishGrad' (node 'node')");
}

}  // namespace mish_test
