// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/reductions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "belay/ops/math.h"
#include "belay/ops/shape.h"
#include "tests/ops/kernel_check.h"

namespace belay::runtime::testing {
namespace {

using Reduction = Output (*)(const Output&, const ops::Axes&, bool, std::string_view);
Build over(Reduction function, const ops::Axes& axes, bool keep_dims = false) {
  return [=](const Inputs& in) { return function(in[0], axes, keep_dims, {}); };
}

struct Shape4 {
  Dims dims;
  ops::Axes axes;
};
// Every pattern of kept and reduced dimensions, empty and single ones among them.
const std::vector<Shape4> kSmall = {{{}, {}},
                                    {{5}, {}},
                                    {{5}, {0}},
                                    {{2, 3}, {}},
                                    {{2, 3}, {0}},
                                    {{2, 3}, {1}},
                                    {{2, 3}, {-1, 0}},
                                    {{2, 3, 4}, {1}},
                                    {{2, 3, 4}, {0, 2}},
                                    {{2, 1, 3, 2}, {1, 3}},
                                    {{2, 3, 2, 2}, {0, 2}},
                                    {{1, 1}, {0}},
                                    {{2, 2, 2, 3}, {1, 3}}};
const std::vector<Shape4> kLarge = {{{70001}, {}},
                                    {{3, 0}, {0}},
                                    {{3, 0}, {1}},
                                    {{0, 3}, {0}},
                                    {{257, 301}, {0}},
                                    {{257, 301}, {1}},
                                    {{17, 33, 65}, {1}},
                                    {{17, 33, 65}, {0, 2}},
                                    {{1, 130}, {0}},
                                    {{3000, 1}, {0}},
                                    {{2, 5, 3, 131}, {0, 2}},
                                    {{40000, 3}, {1}}};

TEST(Reductions, GradientsAgreeWithFiniteDifferences) {
  const std::pair<const char*, Reduction> all[] = {{"Sum", ops::reduce_sum},
                                                   {"Mean", ops::reduce_mean},
                                                   {"Max", ops::reduce_max},
                                                   {"Min", ops::reduce_min},
                                                   {"Prod", ops::reduce_prod}};
  for (const auto& [name, function] : all)
    for (const Shape4& s : kSmall)
      for (const bool keep_dims : {false, true}) {
        SCOPED_TRACE(std::string(name) + " of " + dims_text(s.dims) + " over " + dims_text(s.axes));
        check_gradients(over(function, s.axes, keep_dims), {{s.dims}});
      }
}

TEST(Reductions, SecondGradientsAgreeWithFiniteDifferences) {
  for (const Reduction function : {ops::reduce_sum, ops::reduce_mean})
    for (const bool keep_dims : {false, true})
      check_gradients(
          [=](const Inputs& in) {
            const Output y = ops::square(function(in[0], {1}, keep_dims, {}));
            return in[0].graph().gradients({y}, {in[0]})[0];
          },
          {{{2, 3}}});
}

TEST(Reductions, Float32AgreesWithFloat64) {
  const std::pair<const char*, Reduction> all[] = {
      {"Sum", ops::reduce_sum}, {"Mean", ops::reduce_mean}, {"Max", ops::reduce_max}, {"Min", ops::reduce_min}};
  for (const auto& [name, function] : all)
    for (const std::vector<Shape4>& shapes : {kSmall, kLarge})
      for (const Shape4& s : shapes) {
        SCOPED_TRACE(std::string(name) + " of " + dims_text(s.dims) + " over " + dims_text(s.axes));
        check_float32(over(function, s.axes), {{s.dims, 0, 2}});
      }
  for (const Shape4& s : kSmall) check_float32(over(ops::reduce_prod, s.axes), {{s.dims, 0.5, 1.5}});
  check_float32(over(ops::reduce_prod, {0}), {{{9, 130}, 0.5, 1.5}});
}

TEST(Reductions, LongSumsStayAccurate) {
  // 0.1f a million times: one float32 accumulator would be wrong by 958. The allowed error is that of summing blocks of
  // 1024 one by one, as a build without vector instructions does.
  const std::vector<float> tenths(1000000, 0.1f);
  const double wanted = 1000000 * static_cast<double>(0.1f);
  for (const int threads : {1, 2}) {
    EXPECT_NEAR(run_op<float>(over(ops::reduce_sum, {}), {Tensor({1000000}, tenths)}, threads)[0], wanted, 2);
    EXPECT_NEAR(run_op<float>(over(ops::reduce_sum, {0}), {Tensor({500000, 2}, tenths)}, threads)[0], wanted / 2, 0.01);
  }
}

TEST(Reductions, TheNumberOfThreadsChangesNoBit) {
  std::vector<float> x(300000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  for (const ops::Axes& axes : std::vector<ops::Axes>{{}, {0}, {1}})
    EXPECT_EQ(run_op<float>(over(ops::reduce_sum, axes), {Tensor({600, 500}, x)}, 1),
              run_op<float>(over(ops::reduce_sum, axes), {Tensor({600, 500}, x)}, 2));
}

TEST(Reductions, OfNothingGiveTheirNeutralElement) {
  const Tensor nothing(DType::kFloat32, {2, 0});
  EXPECT_EQ(run_op<float>(over(ops::reduce_sum, {1}), {nothing}), (std::vector<float>{0, 0}));
  EXPECT_EQ(run_op<float>(over(ops::reduce_prod, {1}), {nothing}), (std::vector<float>{1, 1}));
  EXPECT_EQ(run_op<float>(over(ops::reduce_max, {1}), {nothing}), (std::vector<float>{-kInf, -kInf}));
  EXPECT_EQ(run_op<float>(over(ops::reduce_min, {}), {nothing}), (std::vector<float>{kInf}));
  EXPECT_TRUE(std::isnan(run_op<float>(over(ops::reduce_mean, {}), {nothing})[0]));
  EXPECT_EQ(run_op<float>(over(ops::reduce_sum, {0}), {nothing}), std::vector<float>{});
  EXPECT_EQ(run_op<bool>(over(ops::reduce_all, {}), {Tensor(DType::kBool, {0})}), std::vector<bool>{true});
  EXPECT_EQ(run_op<bool>(over(ops::reduce_any, {}), {Tensor(DType::kBool, {0})}), std::vector<bool>{false});
}

TEST(Reductions, NanReachesTheResult) {
  for (const Reduction function :
       {ops::reduce_sum, ops::reduce_mean, ops::reduce_max, ops::reduce_min, ops::reduce_prod})
    for (const ops::Axes& axes : std::vector<ops::Axes>{{0}, {1}}) {
      std::vector<float> x(40, 1.0f);
      x[20] = kNan;  // row 10, column 0
      const std::vector<float> y = run_op<float>(over(function, axes), {Tensor({20, 2}, x)});
      for (std::size_t i = 0; i < y.size(); ++i)
        EXPECT_EQ(std::isnan(y[i]), i == (axes[0] == 0 ? 0u : 10u)) << "element " << i;
    }
}

TEST(Reductions, IntegersAndTruthValues) {
  const Tensor x({2, 3}, {1, 2, 3, 4, -5, 6});
  EXPECT_EQ(run_op<std::int32_t>(over(ops::reduce_sum, {1}), {x}), (std::vector<std::int32_t>{6, 5}));
  EXPECT_EQ(run_op<std::int32_t>(over(ops::reduce_prod, {0}), {x}), (std::vector<std::int32_t>{4, -10, 18}));
  EXPECT_EQ(run_op<std::int32_t>(over(ops::reduce_max, {0}), {x}), (std::vector<std::int32_t>{4, 2, 6}));
  EXPECT_EQ(run_op<std::int32_t>(over(ops::reduce_min, {}), {x}), (std::vector<std::int32_t>{-5}));
  const Tensor t({2, 2}, std::vector<bool>{true, false, true, true});
  EXPECT_EQ(run_op<bool>(over(ops::reduce_all, {1}), {t}), (std::vector<bool>{false, true}));
  EXPECT_EQ(run_op<bool>(over(ops::reduce_any, {0}), {t}), (std::vector<bool>{true, true}));
  EXPECT_EQ(run_op<bool>(over(ops::reduce_all, {0}), {t}), (std::vector<bool>{true, false}));
}

TEST(Reductions, KeepDimsLeavesOnes) {
  const std::unique_ptr<OpRegistry> registry = make_op_registry();
  NodeGraph graph(*registry);
  const Output x = ops::placeholder(graph.handle(), DType::kFloat32, {-1, 3, 4});
  EXPECT_EQ(ops::reduce_sum(x, {1}).dims(), (Dims{-1, 4}));
  EXPECT_EQ(ops::reduce_sum(x, {-2}, true).dims(), (Dims{-1, 1, 4}));
  EXPECT_EQ(ops::reduce_sum(x).rank(), 0);
  EXPECT_EQ(ops::reduce_sum(x, {}, true).dims(), (Dims{1, 1, 1}));
}

TEST(ArgMax, FindsTheFirstLargestAlongAnAxis) {
  const Tensor x({2, 3}, {1.0f, 5.0f, 5.0f, 7.0f, -kInf, 7.0f});
  const auto along = [](std::int64_t axis) { return [=](const Inputs& in) { return ops::arg_max(in[0], axis); }; };
  EXPECT_EQ(run_op<std::int64_t>(along(-1), {x}), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(run_op<std::int64_t>(along(0), {x}), (std::vector<std::int64_t>{1, 0, 1}));
  EXPECT_EQ(run_op<std::int64_t>(along(0), {Tensor({3}, {1.0f, kNan, kInf})}), std::vector<std::int64_t>{1});
  EXPECT_EQ(run_op<std::int64_t>(along(1), {Tensor({1, 2, 2}, {1, 4, 3, 2})}), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(run_op<std::int64_t>(along(1), {Tensor(DType::kFloat32, {0, 3})}), std::vector<std::int64_t>{});
}

TEST(ArgMin, FindsTheFirstSmallestAlongAnAxis) {
  const auto smallest = [](std::int64_t axis) {
    return [axis](const Inputs& in) { return ops::arg_min(in[0], axis); };
  };
  const Tensor x({2, 3}, {3.0f, 1.0f, 1.0f, 0.0f, 2.0f, -1.0f});
  EXPECT_EQ(run_op<std::int64_t>(smallest(1), {x}), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(run_op<std::int64_t>(smallest(0), {x}), (std::vector<std::int64_t>{1, 0, 1}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(run_op<std::int64_t>(smallest(0), {Tensor({3}, {1.0f, nan, 0.0f})}), (std::vector<std::int64_t>{1}));
}

TEST(Norms, GradientsAgreeWithFiniteDifferences) {
  check_gradients([](const Inputs& in) { return ops::l2_loss(in[0]); }, {{{2, 3}}});
  check_gradients([](const Inputs& in) { return ops::global_norm(in); }, {{{2, 3}}, {{4}}, {{}}});
}

// The case in which all directions are alike, and the quotient would be 0/0.
TEST(GlobalNorm, TheGradientAtZerosIsZero) {
  const Build gradient = [](const Inputs& in) { return in[0].graph().gradients({ops::global_norm(in)}, {in[0]})[0]; };
  EXPECT_EQ(run_op<float>(gradient, {Tensor({2}, {0.0f, 0.0f}), Tensor({1}, {0.0f})}), (std::vector<float>{0, 0}));
  EXPECT_EQ(run_op<float>(gradient, {Tensor({2}, {0.0f, 3.0f}), Tensor({1}, {4.0f})}), (std::vector<float>{0, 0.6f}));
}

TEST(Norms, Float32AgreesWithFloat64) {
  for (const Dims& dims : std::vector<Dims>{{}, {0}, {1}, {17}, {70001}}) {
    SCOPED_TRACE(dims_text(dims));
    check_float32([](const Inputs& in) { return ops::l2_loss(in[0]); }, {{dims}});
    check_float32([](const Inputs& in) { return ops::global_norm(in); }, {{dims}, {{5, 33}}, {{70001}}});
  }
}

TEST(BroadcastLike, IsTheReverseOfSumLike) {
  const std::vector<std::pair<Dims, Dims>> shapes = {{{}, {2, 3}},     {{3}, {2, 3}},         {{2, 1}, {2, 3}},
                                                     {{1, 3}, {2, 3}}, {{2, 3}, {2, 3}},      {{1, 2, 1}, {3, 2, 4}},
                                                     {{1, 1}, {2, 3}}, {{5, 1, 2}, {5, 3, 2}}};
  const Build broadcast = [](const Inputs& in) { return ops::broadcast_like(in[0], in[1]) * in[1]; };
  const Build sum = [](const Inputs& in) { return ops::sum_like(in[1], in[0]) * in[0]; };
  for (const auto& [small, large] : shapes) {
    SCOPED_TRACE(dims_text(small) + " and " + dims_text(large));
    for (const Build& build : {broadcast, sum}) {
      check_gradients(build, {{small}, {large}});
      check_float32(build, {{small}, {large}});
    }
  }
  check_float32(broadcast, {{{300, 1}}, {{300, 257}}});
  check_float32(sum, {{{300, 1}}, {{300, 257}}});
  check_float32(sum, {{{257}}, {{300, 257}}});
  check_float32(sum, {{{0}}, {{3, 0}}});
}

TEST(SumLike, OfTheSameShapeIsTheSame) {
  EXPECT_EQ(
      run_op<float>([](const Inputs& in) { return ops::sum_like(in[0] * 2.0, in[0]); }, {Tensor({2}, {1.0f, 2.0f})}),
      (std::vector<float>{2, 4}));
}

TEST(Reductions, BadInputOfTheGradientOfAProductIsNamed) {
  const auto grad = [](const ops::Axes& axes, bool keep_dims) {
    return [=](const Inputs& in) {
      return in[0]
          .graph()
          .node("ProdGrad")
          .in(in[0])
          .in(in[1])
          .attr("axes", axes)
          .attr("keep_dims", keep_dims)
          .output();
    };
  };
  const std::vector<Spec> floats = {{DType::kFloat32, {2}}, {DType::kFloat32, {2, 3}}};
  const std::string node = "INVALID_ARGUMENT: node 'ProdGrad' (ProdGrad): ";
  EXPECT_EQ(build_error(grad({1}, false), floats), "no error");
  EXPECT_EQ(build_error(grad({0}, false), floats),
            node + "input 0 (float32 [2]) must have the shape [3] of the product of input 1 (float32 [2, 3])");
  EXPECT_EQ(build_error(grad({1}, true), floats),
            node + "input 0 (float32 [2]) must have the shape [2, 1] of the product of input 1 (float32 [2, 3])");
  EXPECT_EQ(build_error(grad({2}, false), floats), node + "axis 2 is not in [-2, 2)");
  EXPECT_EQ(build_error(grad({0, -2}, false), floats), node + "axis -2 is given twice");
  EXPECT_EQ(run_error(grad({0}, false), {Tensor({2}, {1.f, 2.f}), Tensor({3}, {1.f, 2.f, 3.f})}),
            node + "input 0 (float32 [2]) must have the shape [] of the product of input 1 (float32 [3])");
}

TEST(Reductions, BadInputIsNamed) {
  EXPECT_EQ(build_error(over(ops::reduce_sum, {2}), {{DType::kFloat32, {2, 3}}}),
            "INVALID_ARGUMENT: node 'Sum' (Sum): axis 2 is not in [-2, 2)");
  EXPECT_EQ(build_error(over(ops::reduce_sum, {0, -2}), {{DType::kFloat32, {2, 3}}}),
            "INVALID_ARGUMENT: node 'Sum' (Sum): axis -2 is given twice");
  EXPECT_EQ(build_error(over(ops::reduce_mean, {}), {{DType::kInt32, {2, 3}}}),
            "INVALID_ARGUMENT: node 'Mean' (Mean): input 0 (int32 [2, 3]) must be float32 or float64");
  EXPECT_EQ(build_error(over(ops::reduce_all, {}), {{DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'All' (All): input 0 (float32 [2]) must be bool");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::arg_max(in[0], 1); }, {{DType::kFloat32, {2, 0}}}),
            "INVALID_ARGUMENT: node 'ArgMax' (ArgMax): input 0 (float32 [2, 0]) has no elements along axis 1");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::arg_max(in[0]); }, {{DType::kFloat32, {}}}),
            "INVALID_ARGUMENT: node 'ArgMax' (ArgMax): axis -1 is not in [0, 0)");
  EXPECT_EQ(
      build_error([](const Inputs& in) { return ops::broadcast_like(in[0], in[1]); },
                  {{DType::kFloat32, {2}}, {DType::kFloat32, {3}}}),
      "INVALID_ARGUMENT: node 'BroadcastLike' (BroadcastLike): input 0 (float32 [2]) does not broadcast to the shape "
      "of input 1 (float32 [3])");
  EXPECT_EQ(
      build_error([](const Inputs& in) { return ops::sum_like(in[0], in[1]); },
                  {{DType::kFloat32, {2}}, {DType::kFloat32, {2, 2}}}),
      "INVALID_ARGUMENT: node 'SumLike' (SumLike): the shape of input 1 (float32 [2, 2]) does not broadcast to input "
      "0 (float32 [2])");
  EXPECT_EQ(
      run_error(
          [](const Inputs& in) {
            return in[0].graph().node("BroadcastLike").in(in[0]).in(in[1]).attr("axes", ops::Axes{0}).output();
          },
          {Tensor({2}, {1.0f, 2.0f}), Tensor({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f})}),
      "INVALID_ARGUMENT: node 'BroadcastLike' (BroadcastLike): shape [2] is no reduction of shape [2, 3] over its "
      "axes");
  EXPECT_EQ(
      build_error([](const Inputs& in) { return ops::global_norm(in); },
                  {{DType::kFloat32, {2}}, {DType::kFloat64, {2}}}),
      "INVALID_ARGUMENT: node 'GlobalNorm' (GlobalNorm): input 0 (float32 [2]) and input 1 (float64 [2]) must have "
      "the same dtype");
  EXPECT_EQ(build_error([](const Inputs&) { return ops::global_norm({}); }, {}),
            "INVALID_ARGUMENT: global_norm needs at least one tensor");
}

}  // namespace
}  // namespace belay::runtime::testing
