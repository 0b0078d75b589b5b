// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/kernel_check.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

Build product(bool ta, bool tb) {
  return [=](const Inputs& in) { return ops::matmul(in[0], in[1], ta, tb); };
}
Dims dims_of(std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? Dims{columns, rows} : Dims{rows, columns};
}

TEST(MatMul, GradientsAgreeWithFiniteDifferences) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      SCOPED_TRACE(std::string(ta ? "T" : "N") + (tb ? "T" : "N"));
      check_gradients(product(ta, tb), {{dims_of(3, 4, ta)}, {dims_of(4, 2, tb)}});
      check_gradients(product(ta, tb), {{dims_of(1, 1, ta)}, {dims_of(1, 5, tb)}});
    }
}

TEST(MatMul, Float32AgreesWithFloat64) {
  struct Sizes {
    std::int64_t m, n, k;
  };
  for (const Sizes& s : std::vector<Sizes>{{1, 1, 1},
                                           {0, 3, 4},
                                           {3, 0, 4},
                                           {3, 4, 0},
                                           {5, 7, 3},
                                           {16, 1, 10},
                                           {1, 17, 33},
                                           {33, 17, 129},
                                           {65, 10, 31},
                                           {64, 128, 50},
                                           {130, 70, 257}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        SCOPED_TRACE(std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k));
        check_float32(product(ta, tb), {{dims_of(s.m, s.k, ta)}, {dims_of(s.k, s.n, tb)}}, 1e-4);
      }
}

TEST(MatMul, NoNodeIsMadeForAGradientThatNobodyWants) {
  const std::unique_ptr<OpRegistry> registry = make_op_registry();
  NodeGraph graph(*registry);
  const Graph g = graph.handle();
  const Output x = ops::placeholder(g, DType::kFloat32, {4, 3}), w = ops::placeholder(g, DType::kFloat32, {3, 2});
  const Output y = ops::matmul(x, w);
  const std::size_t before = graph.size();
  const Output dw = g.gradients({y}, {w})[0];
  std::vector<std::string> made;
  for (std::size_t i = before; i < graph.size(); ++i)
    made.push_back(graph.node(static_cast<std::uint32_t>(i)).op->name);
  EXPECT_EQ(made, (std::vector<std::string>{"OnesLike", "MatMul"}));
  EXPECT_EQ(dw.dims(), (Dims{3, 2}));
}

// Products with everything that is fused after them, forward and backward.
struct DenseCase {
  const char* name;
  bool bias;
  Output (*activation)(const Output&, std::string_view);
};
const DenseCase kDense[] = {{"bias", true, nullptr},          {"relu", false, ops::relu},
                            {"sigmoid", false, ops::sigmoid}, {"tanh", false, ops::tanh},
                            {"bias, relu", true, ops::relu},  {"bias, sigmoid", true, ops::sigmoid},
                            {"bias, tanh", true, ops::tanh}};
Build dense_of(const DenseCase& c) {
  return [c](const Inputs& in) {
    Output y = ops::matmul(in[0], in[1]);
    if (c.bias) y = ops::bias_add(y, in[2]);
    return c.activation == nullptr ? y : c.activation(y, {});
  };
}

TEST(FusedDense, GradientsAgreeWithFiniteDifferences) {
  for (const DenseCase& c : kDense) {
    SCOPED_TRACE(c.name);
    check_gradients(dense_of(c), {{{3, 4}}, {{4, 2}}, {{2}}}, 1e-5);
  }
}

TEST(FusedDense, Float32AgreesWithFloat64) {
  const std::vector<std::vector<std::int64_t>> sizes = {{1, 1, 1}, {0, 3, 4},     {3, 4, 0},
                                                        {5, 7, 3}, {33, 17, 129}, {257, 130, 65}};
  for (const DenseCase& c : kDense)
    for (const auto& mnk : sizes) {
      SCOPED_TRACE(std::string(c.name) + " " + dims_text(mnk));
      check_float32(dense_of(c), {{{mnk[0], mnk[2]}, -0.3, 0.3}, {{mnk[2], mnk[1]}}, {{mnk[1]}}}, 2e-4);
    }
}

TEST(FusedDense, NanAndInfinityReachTheResult) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const std::int64_t rows : {2, 64}) {  // our own loops, oneDNN
    std::vector<float> x(static_cast<std::size_t>(rows) * 64, 1.0f), w(64 * 8, 0.25f);
    x[0] = nan;
    x[64] = inf;
    const std::vector<float> y =
        run_op<float>([](const Inputs& in) { return ops::relu(ops::bias_add(ops::matmul(in[0], in[1]), in[2])); },
                      {Tensor({rows, 64}, x), Tensor({64, 8}, w), Tensor({8}, std::vector<float>(8, -1.0f))});
    EXPECT_TRUE(std::isnan(y[0])) << rows;
    EXPECT_EQ(y[8], inf) << rows;
    EXPECT_EQ(y.back(), rows > 2 ? 15.0f : inf) << rows;
  }
}

TEST(MatMul, BadInputIsNamed) {
  EXPECT_EQ(
      build_error(product(false, false), {{DType::kFloat32, {2, 3}}, {DType::kFloat32, {4, 5}}}),
      "INVALID_ARGUMENT: node 'MatMul' (MatMul): input 0 (float32 [2, 3]) has 3 columns, input 1 (float32 [4, 5]) "
      "has 4 rows; they must agree");
  EXPECT_EQ(build_error(product(true, true), {{DType::kFloat32, {2, 3}}, {DType::kFloat32, {4, 5}}}),
            "INVALID_ARGUMENT: node 'MatMul' (MatMul): input 0 (float32 [2, 3]), transposed, has 2 columns, input 1 "
            "(float32 [4, 5]), transposed, has 5 rows; they must agree");
  EXPECT_EQ(build_error(product(false, false), {{DType::kFloat32, {2, 3, 4}}, {DType::kFloat32, {4, 5}}}),
            "INVALID_ARGUMENT: node 'MatMul' (MatMul): input 0 (float32 [2, 3, 4]) must have 2 dimensions");
  EXPECT_EQ(
      build_error(product(false, false), {{DType::kFloat32, {2, 3}}, {DType::kFloat64, {3, 5}}}),
      "INVALID_ARGUMENT: node 'MatMul' (MatMul): input 0 (float32 [2, 3]) and input 1 (float64 [3, 5]) must have the "
      "same dtype");
  EXPECT_EQ(build_error(product(false, false), {{DType::kInt64, {2, 3}}, {DType::kInt64, {3, 5}}}),
            "INVALID_ARGUMENT: node 'MatMul' (MatMul): input 0 (int64 [2, 3]) must be float32 or float64");
}

TEST_F(SessionTest, DenseMakesItsVariablesInAScope) {
  const Output x = ops::placeholder(g, DType::kFloat32, {-1, 3}, "x");
  const Output y = ops::dense(x, 4, {.activation = ops::Activation::kRelu});
  const Output z = ops::dense(y, 2, {.use_bias = false, .name = "logits"});
  EXPECT_EQ(ops::dense(y, 2).name(), "dense_1/BiasAdd:0");
  EXPECT_EQ(y.dims(), (Dims{-1, 4}));
  EXPECT_EQ(z.dims(), (Dims{-1, 2}));
  std::vector<std::string> names;
  for (const Output& v : g.collection(collections::kTrainableVariables)) names.push_back(g.node_name_of(v));
  EXPECT_EQ(names, (std::vector<std::string>{"dense/kernel", "dense/bias", "logits/kernel", "dense_1/kernel",
                                             "dense_1/bias"}));
  EXPECT_EQ(y.name(), "dense/Relu:0");
}

TEST_F(SessionTest, DenseBeginsWithGlorotKernelsAndZeroBias) {
  const Output x = ops::placeholder(g, DType::kFloat32, {-1, 30}, "x");
  ops::dense(x, 20);
  ops::dense(x, 2,
             {.kernel_initializer = [](const Graph& in, const Dims& dims,
                                       DType dtype) { return ops::fill(in, dims, 0.5, dtype); },
              .name = "halves"});
  open();
  initialize();
  const std::vector<float> kernel = values<float>(g.find("dense/kernel"));
  const double limit = std::sqrt(6.0 / 50);
  EXPECT_LE(*std::max_element(kernel.begin(), kernel.end()), limit);
  EXPECT_GE(*std::min_element(kernel.begin(), kernel.end()), -limit);
  EXPECT_GT(*std::max_element(kernel.begin(), kernel.end()), 0.9 * limit);
  EXPECT_EQ(values<float>(g.find("dense/bias")), std::vector<float>(20, 0));
  EXPECT_EQ(values<float>(g.find("halves/kernel")), std::vector<float>(60, 0.5));
}

TEST(Dense, BadInputIsNamed) {
  const Build dense = [](const Inputs& in) { return ops::dense(in[0], 4, {.name = "d"}); };
  EXPECT_EQ(
      build_error(dense, {{DType::kFloat32, {-1, 28, 28}}}),
      "INVALID_ARGUMENT: dense 'd': 'Placeholder:0' (float32 [?, 28, 28]) must be a matrix [examples, features] whose "
      "features are known; use ops::flatten or ops::reshape");
  EXPECT_EQ(build_error(dense, {{DType::kFloat32, {4, -1}}}),
            "INVALID_ARGUMENT: dense 'd': 'Placeholder:0' (float32 [4, ?]) must be a matrix [examples, features] whose "
            "features are known; use ops::flatten or ops::reshape");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::dense(in[0], 0); }, {{DType::kFloat32, {-1, 3}}}),
            "INVALID_ARGUMENT: dense 'dense': units must be at least 1, got 0");
}

}  // namespace
}  // namespace belay::runtime::testing
