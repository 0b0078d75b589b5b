// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/kernel_check.h"

namespace belay::runtime::testing {
namespace {

Build variance(const ops::Axes& axes, bool keep_dims = false) {
  return [=](const Inputs& in) { return ops::reduce_variance(in[0], axes, keep_dims); };
}
Build deviation(const ops::Axes& axes, bool keep_dims = false) {
  return [=](const Inputs& in) { return ops::reduce_std(in[0], axes, keep_dims); };
}
Build logsumexp(const ops::Axes& axes, bool keep_dims = false) {
  return [=](const Inputs& in) { return ops::reduce_logsumexp(in[0], axes, keep_dims); };
}

TEST(Moments, AreThoseOfThePopulation) {
  const Tensor x({2, 2}, {1.0f, 3.0f, 2.0f, 8.0f});
  EXPECT_EQ(run_op<float>(variance({1}), {x}), (std::vector<float>{1, 9}));
  EXPECT_EQ(run_op<float>([](const Inputs& in) { return ops::moments(in[0], {1}).mean; }, {x}),
            (std::vector<float>{2, 5}));
  EXPECT_EQ(run_op<float>([](const Inputs& in) { return ops::reduce_std(in[0], {1}, true); }, {x}),
            (std::vector<float>{1, 3}));
}

TEST(Moments, GradientsAgreeWithFiniteDifferences) {
  check_gradients(variance({0}), {{{4, 3}}});
  check_gradients(variance({}), {{{5}}});
  check_gradients(variance({-1}, true), {{{2, 3, 4}}});
}

TEST(Moments, Float32AgreesWithFloat64) {
  for (const Dims& dims : std::vector<Dims>{{1, 1}, {17, 33}, {257, 300}}) check_float32(variance({1}), {{dims}});
}

TEST(StandardDeviation, GradientsAgreeWithFiniteDifferences) {
  check_gradients(deviation({0}), {{{4, 3}}});
  check_gradients(deviation({}), {{{5}}});
  check_gradients(deviation({-1}, true), {{{2, 3, 4}}});
}

TEST(StandardDeviation, Float32AgreesWithFloat64) {
  for (const Dims& dims : std::vector<Dims>{{1, 2}, {17, 33}, {257, 300}}) {
    SCOPED_TRACE(dims_text(dims));
    check_float32(deviation({1}), {{dims}});
  }
}

TEST(LogSumExp, DoesNotOverflow) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_FLOAT_EQ(run_op<float>(logsumexp({}), {Tensor({2}, {1000.0f, 1000.0f})})[0], 1000 + std::log(2.0f));
  EXPECT_FLOAT_EQ(run_op<float>(logsumexp({}), {Tensor({2}, {-1000.0f, -1000.0f})})[0], -1000 + std::log(2.0f));
  EXPECT_EQ(run_op<float>(logsumexp({}), {Tensor({2}, {-inf, -inf})})[0], -inf);
  EXPECT_EQ(run_op<float>(logsumexp({}), {Tensor({2}, {inf, 1.0f})})[0], inf);
}

TEST(LogSumExp, GradientsAgreeWithFiniteDifferences) {
  check_gradients(logsumexp({1}), {{{3, 4}}});
  check_gradients(logsumexp({}), {{{5}}});
  check_gradients(logsumexp({0}, true), {{{3, 2}}});
}

TEST(LogSumExp, Float32AgreesWithFloat64) {
  for (const Dims& dims : std::vector<Dims>{{1, 1}, {17, 33}, {257, 300}}) check_float32(logsumexp({1}), {{dims}});
}

TEST(L2Normalize, MakesVectorsOfLengthOne) {
  const auto normalized = [](const Inputs& in) { return ops::l2_normalize(in[0], {1}); };
  const std::vector<float> y = run_op<float>(normalized, {Tensor({2, 2}, {3.0f, 4.0f, 0.0f, 0.0f})});
  EXPECT_FLOAT_EQ(y[0], 0.6f);
  EXPECT_FLOAT_EQ(y[1], 0.8f);
  EXPECT_EQ(y[2], 0);
  check_gradients(normalized, {{{3, 4}}});
}

TEST(ClipByNorm, ScalesWhatIsLonger) {
  const auto clipped = [](const Inputs& in) { return ops::clip_by_norm(in[0], 2.5); };
  EXPECT_EQ(run_op<float>(clipped, {Tensor({2}, {3.0f, 4.0f})}), (std::vector<float>{1.5f, 2}));
  EXPECT_EQ(run_op<float>(clipped, {Tensor({2}, {1.0f, -2.0f})}), (std::vector<float>{1, -2}));
}

Build clipped(double norm) {
  return [=](const Inputs& in) { return ops::clip_by_norm(in[0], norm); };
}

TEST(ClipByNorm, GradientsAgreeWithFiniteDifferences) {
  check_gradients(clipped(0.5), {{{3, 4}}});
  check_gradients(clipped(100), {{{3, 4}}});
}

TEST(ClipByNorm, Float32AgreesWithFloat64) {
  for (const Dims& dims : std::vector<Dims>{{}, {7}, {17, 33}, {257, 300}})
    for (const double norm : {0.5, 1e4}) {
      SCOPED_TRACE(dims_text(dims));
      check_float32(clipped(norm), {{dims}});
    }
}

TEST(ClipByNorm, LeavesZerosAndTheirGradientAlone) {
  const Tensor zeros({2}, {0.0f, 0.0f}), arriving({2}, {3.0f, -5.0f});
  EXPECT_EQ(run_op<float>(clipped(1), {zeros}), (std::vector<float>{0, 0}));
  const Build gradient = [](const Inputs& in) {
    return in[0].graph().gradients({ops::clip_by_norm(in[0], 1)}, {in[0]}, {in[1]})[0];
  };
  EXPECT_EQ(run_op<float>(gradient, {zeros, arriving}), (std::vector<float>{3, -5}));
}

TEST(ClipByNorm, NeedsANormAboveZero) {
  for (const double norm : {0.0, -2.5})
    EXPECT_EQ(build_error(clipped(norm), {{DType::kFloat32, {2}}}),
              "INVALID_ARGUMENT: clip_by_norm: clip_norm must be above 0, got " + std::to_string(norm));
  EXPECT_EQ(build_error(clipped(kNan), {{DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: clip_by_norm: clip_norm must be above 0, got nan");
}

}  // namespace
}  // namespace belay::runtime::testing
