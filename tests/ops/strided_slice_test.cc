// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "belay/ops/shape.h"
#include "tests/ops/kernel_check.h"

namespace belay::runtime::testing {
namespace {

using Places = std::vector<std::int64_t>;

Build strided(const Places& begin, const Places& end, const Places& strides = {}, const ops::SliceMasks& masks = {}) {
  return [=](const Inputs& in) { return ops::strided_slice(in[0], begin, end, strides, masks); };
}
Tensor counted(const Dims& dims) {
  std::vector<float> values(static_cast<std::size_t>(count_of(dims)));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor(dims, values);
}

TEST(StridedSlice, FollowsNumpysRule) {
  const struct {
    Places begin, end, strides;
    ops::SliceMasks masks;
    std::vector<float> expected;
  } cases[] = {
      {{2}, {5}, {}, {}, {2, 3, 4}},
      {{-3}, {-1}, {}, {}, {7, 8}},
      {{1}, {9}, {3}, {}, {1, 4, 7}},
      {{8}, {2}, {-2}, {}, {8, 6, 4}},
      {{0}, {100}, {4}, {}, {0, 4, 8}},
      {{-100}, {2}, {}, {}, {0, 1}},
      {{5}, {2}, {}, {}, {}},
      {{2}, {5}, {-1}, {}, {}},
      {{7}, {0}, {}, {0, 1, 0}, {7, 8, 9}},
      {{7}, {3}, {}, {1, 0, 0}, {0, 1, 2}},
      {{0}, {0}, {-4}, {1, 1, 0}, {9, 5, 1}},
      {{-2}, {0}, {}, {0, 0, 1}, {8}},
  };
  for (const auto& c : cases)
    EXPECT_EQ(run_op<float>(strided(c.begin, c.end, c.strides, c.masks), {counted({10})}), c.expected)
        << dims_text(c.begin) << dims_text(c.end) << dims_text(c.strides);
}

TEST(StridedSlice, AnyStrideGoesPastTheEnd) {
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t stride : {std::int64_t{3}, std::int64_t{100}, most})
    EXPECT_EQ(run_op<float>(strided({1, 0}, {4, 4}, {stride, 1}), {counted({4, 2})}), (std::vector<float>{2, 3}));
  for (const std::int64_t stride : {std::int64_t{-3}, std::int64_t{-100}, -most, least})
    EXPECT_EQ(run_op<float>(strided({3, 0}, {0, 4}, {stride, 1}), {counted({4, 2})}), (std::vector<float>{6, 7}));
  EXPECT_EQ(run_op<float>(strided({most}, {least}, {-4}), {counted({10})}), (std::vector<float>{9, 5, 1}));
  EXPECT_EQ(run_op<float>(strided({0}, {most}, {most}), {counted({0})}), std::vector<float>{});
}

TEST(StridedSlice, WorksInSeveralDimensions) {
  EXPECT_EQ(run_op<float>(strided({1, 3}, {3, 0}, {1, -2}), {counted({3, 4})}), (std::vector<float>{7, 5, 11, 9}));
  EXPECT_EQ(run_op<float>(strided({-1}, {0}, {}, {0, 0, 1}), {counted({3, 4})}), (std::vector<float>{8, 9, 10, 11}));
  EXPECT_EQ(run_op<float>(strided({0, 1}, {0, 0}, {}, {1, 1, 2}), {counted({3, 4})}), (std::vector<float>{1, 5, 9}));
}

TEST(StridedSlice, GradientsAgreeWithFiniteDifferences) {
  check_gradients(strided({1, 0}, {4, 3}, {2, 1}), {{{4, 3}}});
  check_gradients(strided({3, 1}, {0, 2}, {-1, 1}, {0, 0, 2}), {{{4, 3}}});
  check_gradients(strided({2}, {2}), {{{4}}});
  check_gradients(
      [](const Inputs& in) { return in[0].graph().gradients({ops::reverse(in[0], {0})}, {in[0]}, {in[1]})[0]; },
      {{{4, 3}}, {{4, 3}}});
}

TEST(StridedSlice, Float32AgreesWithFloat64) {
  check_float32(strided({1, 290}, {255, 2}, {2, -3}), {{{257, 300}}});
  check_float32(strided({0}, {0}), {{{3, 5}}});
  check_float32(strided({0, 0}, {0, 5}, {}, {0, 0, 1}), {{{1, 17}}});
}

TEST(Reverse, TurnsAxesRound) {
  const auto reversed = [](const Places& axes) { return [=](const Inputs& in) { return ops::reverse(in[0], axes); }; };
  EXPECT_EQ(run_op<float>(reversed({1}), {counted({2, 3})}), (std::vector<float>{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(run_op<float>(reversed({0, -1}), {counted({2, 3})}), (std::vector<float>{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(build_error(reversed({2}), {{DType::kFloat32, {2, 3}}}),
            "INVALID_ARGUMENT: reverse: 'Placeholder:0' (float32 [2, 3]) has no axis 2");
}

Build padded(const Places& before, const Places& after, double value = 0) {
  return [=](const Inputs& in) { return ops::pad(in[0], before, after, value); };
}

TEST(Pad, AddsElementsAround) {
  EXPECT_EQ(run_op<float>(padded({1, 0}, {0, 2}, -1), {counted({2, 2})}),
            (std::vector<float>{-1, -1, -1, -1, 0, 1, -1, -1, 2, 3, -1, -1}));
  EXPECT_EQ(run_op<std::int32_t>(padded({1}, {1}, 7), {Tensor({2}, {1, 2})}), (std::vector<std::int32_t>{7, 1, 2, 7}));
  EXPECT_EQ(run_op<float>(padded({2}, {1}, 3), {Tensor({0}, std::vector<float>{})}), (std::vector<float>{3, 3, 3}));
}

TEST(Pad, GradientsAgreeWithFiniteDifferences) {
  check_gradients(padded({1, 0}, {2, 3}), {{{2, 3}}});
  check_gradients(padded({0, 2, 1}, {1, 0, 0}, 5), {{{2, 1, 3}}});
  check_gradients(
      [](const Inputs& in) { return in[0].graph().gradients({ops::pad(in[0], {1}, {2})}, {in[0]}, {in[1]})[0]; },
      {{{3}}, {{6}}});
}

TEST(Pad, Float32AgreesWithFloat64) {
  check_float32(padded({3, 5}, {0, 1}), {{{257, 300}}});
  check_float32(padded({1, 1}, {1, 1}), {{{0, 4}}});
}

Build tiled(const Places& multiples) {
  return [=](const Inputs& in) { return ops::tile(in[0], multiples); };
}

TEST(Tile, RepeatsAlongEachDimension) {
  EXPECT_EQ(run_op<float>(tiled({2, 3}), {Tensor({2, 1}, {1.0f, 2.0f})}),
            (std::vector<float>{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(run_op<float>(tiled({2}), {counted({3})}), (std::vector<float>{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(run_op<float>(tiled({0}), {counted({3})}), std::vector<float>{});
}

TEST(Tile, GradientsAgreeWithFiniteDifferences) {
  check_gradients(tiled({2, 3}), {{{2, 3}}});
  check_gradients(tiled({1, 2, 1}), {{{2, 2, 3}}});
  check_gradients(
      [](const Inputs& in) { return in[0].graph().gradients({ops::tile(in[0], {2})}, {in[0]}, {in[1]})[0]; },
      {{{3}}, {{6}}});
}

TEST(Tile, Float32AgreesWithFloat64) {
  check_float32(tiled({3, 2}), {{{17, 33}}});
  check_float32(tiled({2, 1}), {{{257, 100}}});
  check_float32(tiled({2, 2}), {{{0, 3}}});
}

TEST(Split, CutsKnownDimensions) {
  const auto part = [](std::size_t i) {
    return [i](const Inputs& in) { return ops::split(ops::reshape(in[0], {2, 3}), Places{1, 2}, -1)[i]; };
  };
  EXPECT_EQ(run_op<float>(part(0), {counted({6})}), (std::vector<float>{0, 3}));
  EXPECT_EQ(run_op<float>(part(1), {counted({6})}), (std::vector<float>{1, 2, 4, 5}));
  const auto row = [](const Inputs& in) { return ops::unstack(ops::reshape(in[0], {3, 2}))[1]; };
  EXPECT_EQ(run_op<float>(row, {counted({6})}), (std::vector<float>{2, 3}));
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::split(in[0], 2)[0]; }, {{DType::kFloat32, {3}}}),
            "INVALID_ARGUMENT: split: axis 0 of 'Placeholder:0' (float32 [3]) cannot be cut into 2 equal parts");
  EXPECT_EQ(
      build_error(
          [](const Inputs& in) {
            return ops::split(in[0], Places{1, 1})[0];
          },
          {{DType::kFloat32, {3}}}),
      "INVALID_ARGUMENT: split: the parts have 2 elements together, axis 0 of 'Placeholder:0' (float32 [3]) has 3");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::unstack(in[0])[0]; }, {{DType::kFloat32, {-1}}}),
            "INVALID_ARGUMENT: unstack: the size of axis 0 of 'Placeholder:0' (float32 [?]) must be known");
}

TEST(Range, CountsInBothDirections) {
  const auto range = [](double start, double limit, double delta) {
    return [=](const Inputs& in) { return ops::range(in[0].graph(), start, limit, delta); };
  };
  const Tensor any(1.0f);
  EXPECT_EQ(run_op<std::int32_t>(range(2, 7, 2), {any}), (std::vector<std::int32_t>{2, 4, 6}));
  EXPECT_EQ(run_op<std::int32_t>(range(3, 0, -1), {any}), (std::vector<std::int32_t>{3, 2, 1}));
  EXPECT_EQ(run_op<std::int32_t>(range(3, 3, 1), {any}), std::vector<std::int32_t>{});
  EXPECT_EQ(build_error(range(0, 5, 0), {{DType::kFloat32, {}}}),
            "INVALID_ARGUMENT: range: from 0.000000 to 5.000000 in steps of 0.000000 does not end");
}

Build gradient_node(const char* op, const std::vector<std::pair<const char*, Places>>& attrs) {
  return [=](const Inputs& in) {
    NodeBuilder node = in[0].graph().node(op);
    for (const auto& [name, value] : attrs) node.attr(name, value);
    return node.in(in[0]).in(in[1]).output();
  };
}

TEST(StridedSlice, BadInputOfTheGradientIsNamed) {
  const auto grad = [](const Places& begin, const Places& end, const Places& strides) {
    return gradient_node("StridedSliceGrad", {{"begin", begin}, {"end", end}, {"strides", strides}});
  };
  const std::vector<Spec> floats = {{DType::kFloat32, {2}}, {DType::kFloat32, {4}}};
  const std::string node = "INVALID_ARGUMENT: node 'StridedSliceGrad' (StridedSliceGrad): ";
  EXPECT_EQ(build_error(grad({0}, {4}, {2}), floats), "no error");
  EXPECT_EQ(build_error(grad({0}, {4}, {1}), floats),
            node + "input 0 (float32 [2]) must have the shape [4], by the attributes and input 1 (float32 [4])");
  EXPECT_EQ(build_error(grad({0}, {4}, {0}), floats), node + "a stride is 0");
  EXPECT_EQ(build_error(grad({0}, {4}, {1, 1}), floats),
            node + "attributes 'begin', 'end' and 'strides' must be as long as each other, got 1, 1 and 2");
  EXPECT_EQ(build_error(grad({0, 0}, {4, 4}, {}), floats),
            node + "attribute 'begin' has 2 values, input 1 (float32 [4]) has 1 dimensions");
  EXPECT_EQ(build_error(grad({0}, {2}, {}), {{DType::kString, {2}}, {DType::kString, {4}}}),
            node + "input 0 (string [2]) must be a number or bool");
  EXPECT_EQ(run_error(grad({1}, {4}, {}), {counted({2}), counted({4})}),
            node + "input 0 (float32 [2]) must have the shape [3], by the attributes and input 1 (float32 [4])");
}

TEST(Pad, BadInputOfTheGradientIsNamed) {
  const auto grad = [](const Places& before, const Places& after) {
    return gradient_node("PadGrad", {{"before", before}, {"after", after}});
  };
  const std::vector<Spec> floats = {{DType::kFloat32, {4}}, {DType::kFloat32, {2}}};
  const std::string node = "INVALID_ARGUMENT: node 'PadGrad' (PadGrad): ";
  EXPECT_EQ(build_error(grad({2}, {0}), floats), "no error");
  EXPECT_EQ(build_error(grad({3}, {0}), floats),
            node + "input 0 (float32 [4]) must have the shape [5], by the attributes and input 1 (float32 [2])");
  EXPECT_EQ(build_error(grad({-1}, {3}), floats), node + "dimension 0 is padded by -1 and 3 elements; use at least 0");
  EXPECT_EQ(build_error(grad({1, 1}, {1, 1}), floats),
            node +
                "attributes 'before' and 'after' must have one value for each dimension of input 1 (float32 [2]), "
                "got 2 and 2");
  EXPECT_EQ(build_error(grad({2}, {0}), {{DType::kBool, {4}}, {DType::kBool, {2}}}),
            node + "input 0 (bool [4]) must be a number");
  EXPECT_EQ(run_error(grad({1}, {0}), {counted({2}), counted({2})}),
            node + "input 0 (float32 [2]) must have the shape [3], by the attributes and input 1 (float32 [2])");
}

TEST(Tile, BadInputOfTheGradientIsNamed) {
  const auto grad = [](const Places& multiples) { return gradient_node("TileGrad", {{"multiples", multiples}}); };
  const std::vector<Spec> floats = {{DType::kFloat32, {4}}, {DType::kFloat32, {2}}};
  const std::string node = "INVALID_ARGUMENT: node 'TileGrad' (TileGrad): ";
  EXPECT_EQ(build_error(grad({2}), floats), "no error");
  EXPECT_EQ(build_error(grad({3}), floats),
            node + "input 0 (float32 [4]) must have the shape [6], by the attributes and input 1 (float32 [2])");
  EXPECT_EQ(build_error(grad({-2}), floats), node + "dimension 0 cannot be repeated -2 times");
  EXPECT_EQ(build_error(grad({}), floats),
            node + "attribute 'multiples' must have one value for each dimension of input 1 (float32 [2]), got 0");
  EXPECT_EQ(run_error(grad({2}), {counted({3}), counted({2})}),
            node + "input 0 (float32 [3]) must have the shape [4], by the attributes and input 1 (float32 [2])");
}

TEST(StridedSlice, BadInputIsNamed) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(build_error(padded({most}, {most}), {{DType::kFloat32, {3}}}),
            "INVALID_ARGUMENT: node 'Pad' (Pad): dimension 0 of input 0 (float32 [3]) cannot be padded by "
            "9223372036854775807 and 9223372036854775807 elements");
  EXPECT_EQ(build_error(tiled({most}), {{DType::kFloat32, {3}}}),
            "INVALID_ARGUMENT: node 'Tile' (Tile): dimension 0 cannot be repeated 9223372036854775807 times");
  EXPECT_EQ(
      build_error(strided({1}, {2, 3}), {{DType::kFloat32, {4}}}),
      "INVALID_ARGUMENT: node 'StridedSlice' (StridedSlice): attributes 'begin', 'end' and 'strides' must be as long "
      "as each other, got 1, 2 and 0");
  EXPECT_EQ(build_error(strided({1}, {2}, {0}), {{DType::kFloat32, {4}}}),
            "INVALID_ARGUMENT: node 'StridedSlice' (StridedSlice): a stride is 0");
  EXPECT_EQ(
      build_error(strided({1, 1}, {2, 2}), {{DType::kFloat32, {4}}}),
      "INVALID_ARGUMENT: node 'StridedSlice' (StridedSlice): attribute 'begin' has 2 values, input 0 (float32 [4]) "
      "has 1 dimensions");
  EXPECT_EQ(build_error(strided({4}, {0}, {}, {0, 0, 1}), {{DType::kFloat32, {4}}}),
            "INVALID_ARGUMENT: node 'StridedSlice' (StridedSlice): place 4 does not lie within dimension 0 of input 0 "
            "(float32 [4])");
  EXPECT_EQ(
      build_error(padded({1}, {1}), {{DType::kFloat32, {2, 2}}}),
      "INVALID_ARGUMENT: node 'Pad' (Pad): attributes 'before' and 'after' must have one value for each dimension of "
      "input 0 (float32 [2, 2]), got 1 and 1");
  EXPECT_EQ(build_error(padded({-1}, {1}), {{DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'Pad' (Pad): dimension 0 is padded by -1 and 1 elements; use at least 0");
  EXPECT_EQ(
      build_error(tiled({1}), {{DType::kFloat32, {2, 2}}}),
      "INVALID_ARGUMENT: node 'Tile' (Tile): attribute 'multiples' must have one value for each dimension of input 0 "
      "(float32 [2, 2]), got 1");
  EXPECT_EQ(build_error(tiled({-1}), {{DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'Tile' (Tile): dimension 0 cannot be repeated -1 times");
}

}  // namespace
}  // namespace belay::runtime::testing
