// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/sorting.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/ops/kernel_check.h"

namespace belay::runtime::testing {
namespace {

Build top_values(std::int64_t k) {
  return [k](const Inputs& in) { return ops::top_k(in[0], k).values; };
}
Build top_indices(std::int64_t k) {
  return [k](const Inputs& in) { return ops::top_k(in[0], k).indices; };
}

TEST(TopK, GivesTheLargestInFallingOrder) {
  const Tensor x({2, 4}, {3.0f, 1.0f, 3.0f, 2.0f, -1.0f, kNan, 5.0f, 0.0f});
  EXPECT_EQ(run_op<std::int32_t>(top_indices(3), {x}), (std::vector<std::int32_t>{0, 2, 3, 1, 2, 3}));
  EXPECT_EQ(run_op<std::int32_t>(top_values(2), {Tensor({3}, {4, 9, 7})}), (std::vector<std::int32_t>{9, 7}));
  EXPECT_EQ(run_op<float>(top_values(0), {x}), std::vector<float>{});
}

TEST(TopK, GradientsAgreeWithFiniteDifferences) {
  check_gradients(top_values(2), {{{3, 5}}});
  check_gradients(top_values(4), {{{4}}});
}

TEST(TopK, Float32AgreesWithFloat64) {
  check_float32(top_values(5), {{{257, 33}}});
  check_float32(top_values(1), {{{0, 4}}});
  check_float32(top_values(1), {{{1}}});
}

TEST(InTopK, AsksWhetherTheTargetIsAmongTheLargest) {
  const auto in_top = [](std::int64_t k) { return [k](const Inputs& in) { return ops::in_top_k(in[0], in[1], k); }; };
  const Tensor x({5, 3}, {3.0f, 1.0f, 2.0f, 3.0f, 1.0f, 2.0f, 2.0f, 2.0f, 2.0f, 1.0f, kNan, 0.0f, 1.0f, 2.0f, 3.0f});
  const Tensor targets({5}, {2, 1, 0, 0, 7});
  EXPECT_EQ(run_op<bool>(in_top(1), {x, targets}), (std::vector<bool>{0, 0, 1, 0, 0}));
  EXPECT_EQ(run_op<bool>(in_top(2), {x, targets}), (std::vector<bool>{1, 0, 1, 0, 0}));
}

TEST(InTopK, TakesFloat64AndInt64) {
  const auto in_top = [](const Inputs& in) { return ops::in_top_k(in[0], in[1], 1); };
  const Tensor x({2, 3}, {3.0, 1.0, 2.0, 3.0, 1.0, 2.0}), y({2, 3}, {3.f, 1.f, 2.f, 3.f, 1.f, 2.f});
  const Tensor ints({2}, {0, 2}), longs({2}, {std::int64_t{0}, std::int64_t{1} << 32});
  EXPECT_EQ(run_op<bool>(in_top, {x, ints}), (std::vector<bool>{1, 0}));
  EXPECT_EQ(run_op<bool>(in_top, {x, longs}), (std::vector<bool>{1, 0}));
  EXPECT_EQ(run_op<bool>(in_top, {y, longs}), (std::vector<bool>{1, 0}));
}

Build cumulative(std::int64_t axis, bool exclusive = false, bool reverse = false) {
  return [=](const Inputs& in) { return ops::cumsum(in[0], axis, exclusive, reverse); };
}

TEST(Cumsum, AddsUpAlongAnAxis) {
  const Tensor x({2, 3}, {1, 2, 3, 4, 5, 6});
  using Ints = std::vector<std::int32_t>;
  EXPECT_EQ(run_op<std::int32_t>(cumulative(1), {x}), (Ints{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(run_op<std::int32_t>(cumulative(0), {x}), (Ints{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(run_op<std::int32_t>(cumulative(-1, true), {x}), (Ints{0, 1, 3, 0, 4, 9}));
  EXPECT_EQ(run_op<std::int32_t>(cumulative(1, false, true), {x}), (Ints{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(run_op<std::int32_t>(cumulative(1, true, true), {x}), (Ints{5, 3, 0, 11, 6, 0}));
}

TEST(Cumsum, GradientsAgreeWithFiniteDifferences) {
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true}) check_gradients(cumulative(1, exclusive, reverse), {{{2, 3, 2}}});
}

TEST(Cumsum, Float32AgreesWithFloat64) {
  check_float32(cumulative(0), {{{257, 33}}});
  check_float32(cumulative(1), {{{17, 1001}}});
  check_float32(cumulative(0), {{{0, 3}}});
}

TEST(TopK, BadInputOfTheGradientIsNamed) {
  const Build grad = [](const Inputs& in) {
    return in[0].graph().node("TopKGrad").in(in[0]).in(in[1]).in(in[2]).output();
  };
  const Spec top{DType::kFloat32, {2, 2}}, at{DType::kInt32, {2, 2}}, x{DType::kFloat32, {2, 5}};
  const std::string node = "INVALID_ARGUMENT: node 'TopKGrad' (TopKGrad): ";
  EXPECT_EQ(build_error(grad, {top, at, x}), "no error");
  EXPECT_EQ(build_error(grad, {top, {DType::kInt32, {2, 1}}, x}),
            node + "input 0 (float32 [2, 2]) and input 1 (int32 [2, 1]) must have the same shape");
  EXPECT_EQ(build_error(grad, {top, at, {DType::kFloat32, {3, 5}}}),
            node + "input 0 (float32 [2, 2]) must have the dimensions of input 2 (float32 [3, 5]) before the last");
  EXPECT_EQ(build_error(grad, {top, at, {DType::kFloat32, {5}}}),
            node + "input 0 (float32 [2, 2]) must have the dimensions of input 2 (float32 [5]) before the last");
  EXPECT_EQ(build_error(grad, {top, at, {DType::kFloat32, {}}}),
            node + "input 2 (float32 []) must have at least one dimension");
  EXPECT_EQ(build_error(grad, {top, {DType::kInt64, {2, 2}}, x}), node + "input 1 (int64 [2, 2]) must be int32");
  const Tensor dy({1, 2}, {1.f, 2.f}), values({1, 3}, {1.f, 2.f, 3.f});
  for (const int bad : {3, -1})
    EXPECT_EQ(run_error(grad, {dy, Tensor({1, 2}, {0, bad}), values}),
              node + "index " + std::to_string(bad) + " at position 1 is not in [0, 3)");
  EXPECT_EQ(run_error(grad, {dy, Tensor({2, 1}, {0, 1}), values}),
            node + "input 0 (float32 [1, 2]) and input 1 (int32 [2, 1]) must have the same shape");
}

TEST(InTopK, BadInputIsNamed) {
  const auto in_top = [](std::int64_t k) { return [k](const Inputs& in) { return ops::in_top_k(in[0], in[1], k); }; };
  const Spec x{DType::kFloat32, {3, 2}}, targets{DType::kInt32, {3}};
  const std::string node = "INVALID_ARGUMENT: node 'InTopK' (InTopK): ";
  EXPECT_EQ(build_error(in_top(1), {x, targets}), "no error");
  EXPECT_EQ(build_error(in_top(1), {{DType::kFloat32, {3}}, targets}),
            node + "input 0 (float32 [3]) must have 2 dimensions");
  EXPECT_EQ(build_error(in_top(1), {x, {DType::kInt32, {3, 1}}}),
            node + "input 1 (int32 [3, 1]) must have 1 dimension");
  EXPECT_EQ(build_error(in_top(1), {{DType::kInt32, {3, 2}}, targets}),
            node + "input 0 (int32 [3, 2]) must be float32 or float64");
  EXPECT_EQ(build_error(in_top(1), {x, {DType::kUInt8, {3}}}), node + "input 1 (uint8 [3]) must be int32 or int64");
  EXPECT_EQ(build_error(in_top(-1), {x, targets}), node + "attribute 'k' must be at least 0, got -1");
}

TEST(Sorting, BadInputIsNamed) {
  EXPECT_EQ(
      build_error(top_values(4), {{DType::kFloat32, {3}}}),
      "INVALID_ARGUMENT: node 'TopK' (TopK): input 0 (float32 [3]) has fewer than 4 elements in its last dimension");
  EXPECT_EQ(build_error(top_values(-1), {{DType::kFloat32, {3}}}),
            "INVALID_ARGUMENT: node 'TopK' (TopK): attribute 'k' must be at least 0, got -1");
  EXPECT_EQ(build_error(top_values(1), {{DType::kFloat32, {}}}),
            "INVALID_ARGUMENT: node 'TopK' (TopK): input 0 (float32 []) must have at least one dimension");
  EXPECT_EQ(
      build_error([](const Inputs& in) { return ops::in_top_k(in[0], in[1], 1); },
                  {{DType::kFloat32, {3, 2}}, {DType::kInt32, {2}}}),
      "INVALID_ARGUMENT: node 'InTopK' (InTopK): input 1 (int32 [2]) must have one target for each row of input 0 "
      "(float32 [3, 2])");
  EXPECT_EQ(build_error(cumulative(2), {{DType::kFloat32, {3, 2}}}),
            "INVALID_ARGUMENT: node 'Cumsum' (Cumsum): axis 2 is not in [-2, 2)");
}

}  // namespace
}  // namespace belay::runtime::testing
