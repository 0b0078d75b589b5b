// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "belay/ops/shape.h"
#include "tests/ops/kernel_check.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

Build transposed(const std::vector<std::int64_t>& perm) {
  return [=](const Inputs& in) { return ops::transpose(in[0], perm); };
}
Build sliced(const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& size) {
  return [=](const Inputs& in) { return ops::slice(in[0], begin, size); };
}
Build joined(std::int64_t axis) {
  return [=](const Inputs& in) { return ops::concat(in, axis); };
}
Build stacked(std::int64_t axis) {
  return [=](const Inputs& in) { return ops::stack(in, axis); };
}

TEST(Transpose, GradientsAgreeWithFiniteDifferences) {
  check_gradients(transposed({}), {{{2, 3}}});
  check_gradients(transposed({2, 0, 1}), {{{2, 3, 4}}});
  check_gradients(transposed({0, 2, 1}), {{{2, 3, 2}}});
  check_gradients(transposed({}), {{{}}});
}

TEST(Transpose, Float32AgreesWithFloat64) {
  for (const Dims& dims : std::vector<Dims>{{0, 3}, {1, 1}, {17, 33}, {257, 300}})
    check_float32(transposed({1, 0}), {{dims}});
  for (const auto& perm : std::vector<std::vector<std::int64_t>>{{0, 2, 1}, {1, 0, 2}, {2, 1, 0}, {1, 2, 0}})
    check_float32(transposed(perm), {{{9, 33, 65}}});
}

TEST(Transpose, MovesElements) {
  EXPECT_EQ(
      run_op<std::int64_t>(transposed({1, 0}),
                           {Tensor({2, 2}, {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{4}})}),
      (std::vector<std::int64_t>{1, 3, 2, 4}));
}

TEST(Slice, GradientsAgreeWithFiniteDifferences) {
  check_gradients(sliced({1, 0}, {2, -1}), {{{4, 3}}});
  check_gradients(sliced({0, 1, 1}, {2, 1, -1}), {{{2, 3, 4}}});
  check_gradients(sliced({2}, {0}), {{{4}}});
  // And of the gradient.
  check_gradients(
      [](const Inputs& in) {
        return in[0].graph().gradients({ops::slice(in[0], {1, 0}, {2, -1})}, {in[0]}, {in[1]})[0];
      },
      {{{4, 3}}, {{2, 3}}});
}

TEST(Slice, Float32AgreesWithFloat64) {
  check_float32(sliced({1, 2}, {255, 290}), {{{257, 300}}});
  check_float32(sliced({0, 2, 0}, {-1, 1, -1}), {{{33, 5, 17}}});
  check_float32(sliced({3, 0}, {-1, -1}), {{{3, 5}}});
}

TEST(Concat, GradientsAgreeWithFiniteDifferences) {
  check_gradients(joined(0), {{{2, 3}}, {{1, 3}}, {{3, 3}}});
  check_gradients(joined(-1), {{{2, 3}}, {{2, 1}}});
  check_gradients(joined(1), {{{2, 1, 2}}, {{2, 3, 2}}});
  check_gradients(joined(0), {{{2}}});
}

TEST(Concat, OnlyWantedPartsGetAGradient) {
  const std::unique_ptr<OpRegistry> registry = make_op_registry();
  NodeGraph graph(*registry);
  const Output a = ops::placeholder(graph.handle(), DType::kFloat32, {2}),
               b = ops::placeholder(graph.handle(), DType::kFloat32, {3});
  const Output y = ops::concat({a, b}, 0);
  const std::size_t before = graph.size();
  EXPECT_EQ(graph.handle().gradients({y}, {b})[0].dims(), (Dims{3}));
  EXPECT_EQ(graph.size() - before, 2u);  // OnesLike, ConcatGrad
}

TEST(Concat, Float32AgreesWithFloat64) {
  check_float32(joined(0), {{{17, 33}}, {{0, 33}}, {{1, 33}}});
  check_float32(joined(1), {{{257, 31}}, {{257, 129}}, {{257, 0}}});
  check_float32(joined(0), std::vector<Operand>(40, Operand{{3}}));
}

TEST(Stack, PutsTensorsAlongANewDimension) {
  const Tensor a({2}, {1.0f, 2.0f}), b({2}, {3.0f, 4.0f});
  EXPECT_EQ(run_op<float>(stacked(0), {a, b}), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(run_op<float>(stacked(-1), {a, b}), (std::vector<float>{1, 3, 2, 4}));
  check_gradients(stacked(1), {{{2, 3}}, {{2, 3}}});
  check_float32(stacked(1), {{{17, 33}}, {{17, 33}}, {{17, 33}}});
}

// Elements 1 to 6 of each dtype, as strings or as 16 bits.
TEST_F(SessionTest, PartsMoveElementsOfAnyDtype) {
  struct Case {
    Build build;
    std::vector<int> expected;
  };
  const std::vector<Case> cases = {{transposed({1, 0}), {1, 4, 2, 5, 3, 6}},
                                   {sliced({0, 1}, {-1, 2}), {2, 3, 5, 6}},
                                   {[](const Inputs& in) {
                                      return ops::concat({in[0], in[0]}, 1);
                                    },
                                    {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}},
                                   {[](const Inputs& in) {
                                      return ops::strided_slice(in[0], {1, 2}, {2, -4}, {1, -2});
                                    },
                                    {6, 4}},
                                   {[](const Inputs& in) {
                                      return ops::tile(in[0], {1, 2});
                                    },
                                    {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}}};
  const auto text = [](int i) { return "a text that is too long to be kept in place " + std::to_string(i); };
  std::vector<std::pair<Output, Tensor>> feeds;
  for (const DType dtype : {DType::kString, DType::kBFloat16, DType::kFloat16}) {
    Tensor x(dtype, {2, 3});
    for (int i = 0; i < 6; ++i) {
      if (dtype == DType::kString) {
        x.set_text(static_cast<std::size_t>(i), text(i + 1));
      } else {
        static_cast<std::uint16_t*>(x.view().data)[i] = static_cast<std::uint16_t>(1000 * (i + 1));
      }
    }
    feeds.emplace_back(ops::placeholder(g, dtype, {2, 3}), std::move(x));
  }
  std::vector<Output> results;
  for (const auto& [x, value] : feeds)
    for (const Case& c : cases) results.push_back(c.build({x}));
  open();
  const RunResult r = session().handle().run(std::vector<FetchRef>(results.begin(), results.end()), feeds);
  for (std::size_t i = 0; i < results.size(); ++i) {
    SCOPED_TRACE(results[i].text());
    const std::vector<int>& expected = cases[i % cases.size()].expected;
    const TensorView y = r[i];
    ASSERT_EQ(y.size(), expected.size());
    for (std::size_t e = 0; e < y.size(); ++e) {
      if (y.dtype() == DType::kString) {
        EXPECT_EQ(y.text(e), text(expected[e])) << e;
      } else {
        EXPECT_EQ(static_cast<const std::uint16_t*>(y.data())[e], 1000 * expected[e]) << e;
      }
    }
  }
}

TEST(Transpose, AnOrderIsCheckedWhereTheRankIsUnknown) {
  const Tensor x({2, 1}, {1.0f, 2.0f});
  for (const auto& perm : std::vector<std::vector<std::int64_t>>{{0, 0}, {0, 2}, {-1, 0}, {1000000, 0}})
    EXPECT_EQ(run_error(transposed(perm), {x}), "INVALID_ARGUMENT: node 'Transpose' (Transpose): attribute 'perm' " +
                                                    dims_text(perm) +
                                                    " is no order of the 2 dimensions of input 0 (float32 [...])");
  EXPECT_EQ(run_error(transposed({0, 2, 1}), {x}),
            "INVALID_ARGUMENT: node 'Transpose' (Transpose): attribute 'perm' [0, 2, 1] is no order of the 2 "
            "dimensions of input 0 (float32 [2, 1])");
}

TEST(Slice, BadInputOfTheGradientIsNamed) {
  using Places = std::vector<std::int64_t>;
  const auto grad = [](const Places& begin, const Places& size) {
    return [=](const Inputs& in) {
      return in[0].graph().node("SliceGrad").in(in[0]).in(in[1]).attr("begin", begin).attr("size", size).output();
    };
  };
  const std::vector<Spec> floats = {{DType::kFloat32, {2, 2}}, {DType::kFloat32, {4, 3}}};
  const std::string node = "INVALID_ARGUMENT: node 'SliceGrad' (SliceGrad): ";
  EXPECT_EQ(build_error(grad({2, 1}, {2, -1}), floats), "no error");
  EXPECT_EQ(build_error(grad({2, 1}, {2, 1}), floats),
            node + "input 0 (float32 [2, 2]) must have the shape [2, 1] of the slice of input 1 (float32 [4, 3])");
  EXPECT_EQ(build_error(grad({3, 1}, {2, 2}), floats),
            node + "begin 3 and size 2 do not lie within dimension 0 of input 1 (float32 [4, 3])");
  EXPECT_EQ(build_error(grad({-1, 0}, {2, 2}), floats),
            node + "begin -1 and size 2 do not lie within dimension 0 of input 1 (float32 [4, 3])");
  EXPECT_EQ(build_error(grad({2}, {2}), floats),
            node +
                "attributes 'begin' and 'size' must have one value for each dimension of input 1 (float32 [4, 3]), "
                "got 1 and 1");
  EXPECT_EQ(build_error(grad({0}, {2}), {{DType::kString, {2}}, {DType::kString, {3}}}),
            node + "input 0 (string [2]) must be a number or bool");
  // For shapes that are known only when it runs.
  EXPECT_EQ(run_error(grad({2}, {-1}), {Tensor({3}, {1.f, 2.f, 3.f}), Tensor({4}, {1.f, 2.f, 3.f, 4.f})}),
            node + "input 0 (float32 [3]) must have the shape [2] of the slice of input 1 (float32 [4])");
}

TEST(Concat, BadInputOfTheGradientIsNamed) {
  const auto grad = [](std::int64_t axis, std::int64_t index) {
    return [=](const Inputs& in) {
      return in[0].graph().node("ConcatGrad").in(in).attr("axis", axis).attr("index", index).output();
    };
  };
  const Spec whole{DType::kFloat32, {5, 3}}, two{DType::kFloat32, {2, 3}}, three{DType::kFloat32, {3, 3}};
  const std::string node = "INVALID_ARGUMENT: node 'ConcatGrad' (ConcatGrad): ";
  EXPECT_EQ(build_error(grad(0, 1), {whole, two, three}), "no error");
  for (const std::int64_t index : {-1, 2})
    EXPECT_EQ(build_error(grad(0, index), {whole, two, three}),
              node + "attribute 'index' must name one of the 2 parts, got " + std::to_string(index));
  EXPECT_EQ(build_error(grad(0, 1), {whole, two, two}),
            node + "input 0 (float32 [5, 3]) must have the shape [4, 3] of the parts put together");
  EXPECT_EQ(build_error(grad(1, 0), {whole, two, three}),
            node +
                "input 1 (float32 [2, 3]) and input 2 (float32 [3, 3]) must have the same dimensions except along "
                "axis 1");
  EXPECT_EQ(build_error(grad(2, 0), {whole, two, three}), node + "axis 2 is not in [-2, 2)");
  EXPECT_EQ(build_error(grad(0, 0), {whole}), node + "there is nothing to put together");
  EXPECT_EQ(build_error(grad(0, 0), {{DType::kFloat64, {2, 3}}, two}),
            node + "input 0 (float64 [2, 3]) and input 1 (float32 [2, 3]) must have the same dtype");
  EXPECT_EQ(run_error(grad(0, 0), {Tensor({2}, {1.f, 2.f}), Tensor({3}, {1.f, 2.f, 3.f})}),
            node + "input 0 (float32 [2]) must have the shape [3] of the parts put together");
}

TEST(Parts, BadInputIsNamed) {
  EXPECT_EQ(build_error(sliced({1}, {std::numeric_limits<std::int64_t>::max()}), {{DType::kFloat32, {3}}}),
            "INVALID_ARGUMENT: node 'Slice' (Slice): begin 1 and size 9223372036854775807 do not lie within dimension "
            "0 of input 0 (float32 [3])");
  EXPECT_EQ(build_error(transposed({0, 0}), {{DType::kFloat32, {2, 3}}}),
            "INVALID_ARGUMENT: node 'Transpose' (Transpose): attribute 'perm' [0, 0] is no order of the 2 dimensions "
            "of input "
            "0 (float32 [2, 3])");
  EXPECT_EQ(
      build_error(transposed({0, 1, 2}), {{DType::kFloat32, {2, 3}}}),
      "INVALID_ARGUMENT: node 'Transpose' (Transpose): attribute 'perm' [0, 1, 2] is no order of the 2 dimensions of "
      "input 0 (float32 [2, 3])");
  EXPECT_EQ(
      build_error(sliced({1}, {2}), {{DType::kFloat32, {2, 3}}}),
      "INVALID_ARGUMENT: node 'Slice' (Slice): attributes 'begin' and 'size' must have one value for each dimension of "
      "input 0 (float32 [2, 3]), got 1 and 1");
  EXPECT_EQ(build_error(sliced({1, 1}, {-1, 3}), {{DType::kFloat32, {2, 3}}}),
            "INVALID_ARGUMENT: node 'Slice' (Slice): begin 1 and size 3 do not lie within dimension 1 of input 0 "
            "(float32 [2, "
            "3])");
  EXPECT_EQ(
      run_error(sliced({5}, {-1}), {Tensor({3}, {1.0f, 2.0f, 3.0f})}),
      "INVALID_ARGUMENT: node 'Slice' (Slice): begin 5 and size -1 do not lie within dimension 0 of input 0 (float32 "
      "[3])");
  EXPECT_EQ(
      build_error(joined(0), {{DType::kFloat32, {2, 3}}, {DType::kFloat32, {2, 4}}}),
      "INVALID_ARGUMENT: node 'Concat' (Concat): input 0 (float32 [2, 3]) and input 1 (float32 [2, 4]) must have the "
      "same dimensions except along axis 0");
  EXPECT_EQ(build_error(joined(2), {{DType::kFloat32, {2, 3}}, {DType::kFloat32, {2, 3}}}),
            "INVALID_ARGUMENT: node 'Concat' (Concat): axis 2 is not in [-2, 2)");
  EXPECT_EQ(build_error(joined(0), {{DType::kFloat32, {2}}, {DType::kInt32, {2}}}),
            "INVALID_ARGUMENT: node 'Concat' (Concat): input 0 (float32 [2]) and input 1 (int32 [2]) must have the "
            "same dtype");
  EXPECT_EQ(build_error([](const Inputs&) { return ops::concat({}, 0); }, {}),
            "INVALID_ARGUMENT: concat needs at least one tensor");
  EXPECT_EQ(build_error([](const Inputs&) { return ops::stack({}); }, {}),
            "INVALID_ARGUMENT: stack needs at least one tensor");
}

}  // namespace
}  // namespace belay::runtime::testing
