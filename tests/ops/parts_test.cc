#include <gtest/gtest.h>

#include "belay/ops/shape.h"
#include "tests/ops/kernel_check.h"

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

TEST(Parts, BadInputIsNamed) {
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
