// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/shape.h"

#include <gtest/gtest.h>

#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "tests/ops/kernel_check.h"

namespace belay::runtime::testing {
namespace {

Build reshaped(const Dims& dims) {
  return [=](const Inputs& in) { return ops::reshape(in[0], dims); };
}

// The dims that a function infers from a placeholder's.
Dims inferred(const Dims& dims, const std::function<Output(const Output&)>& function) {
  const std::unique_ptr<OpRegistry> registry = make_op_registry();
  NodeGraph graph(*registry);
  return function(ops::placeholder(graph.handle(), DType::kFloat32, dims)).dims();
}

TEST(Shape, GradientsAgreeWithFiniteDifferences) {
  check_gradients([](const Inputs& in) { return ops::reshape(in[0], {3, -1}) * 2.0; }, {{{2, 6}}});
  check_gradients([](const Inputs& in) { return ops::expand_dims(in[0], 1); }, {{{2, 3}}});
  check_gradients([](const Inputs& in) { return ops::squeeze(in[0], {1}); }, {{{2, 1, 3}}});
  check_gradients([](const Inputs& in) { return ops::reshape_like(in[0], in[1]) * in[1]; }, {{{2, 3}}, {{6}}});
}

TEST(Shape, AliasesKeepTheElements) {
  for (const Dims& dims : std::vector<Dims>{{0, 2}, {1, 1}, {4, 6}}) {
    SCOPED_TRACE(dims_text(dims));
    check_float32(
        [](const Inputs& in) {
          return ops::reshape(ops::expand_dims(in[0] + 1.0, 0), {1, -1, 2});
        },
        {{dims[0] == 1 ? Dims{1, 2} : dims}});
  }
  check_float32(reshaped({0, 3}), {{{0, 5}}});
}

TEST(Shape, InfersDimensions) {
  EXPECT_EQ(inferred({-1, 4, 6}, [](const Output& x) { return ops::reshape(x, {-1, 24}); }), (Dims{-1, 24}));
  EXPECT_EQ(inferred({5, 4, 6}, [](const Output& x) { return ops::reshape(x, {-1, 8}); }), (Dims{15, 8}));
  EXPECT_EQ(inferred({-1, 4, 6}, [](const Output& x) { return ops::flatten(x); }), (Dims{-1, 24}));
  EXPECT_EQ(inferred({7}, [](const Output& x) { return ops::flatten(x); }), (Dims{7, 1}));
  EXPECT_EQ(inferred({-1, 4}, [](const Output& x) { return ops::expand_dims(x, -1); }), (Dims{-1, 4, 1}));
  EXPECT_EQ(inferred({-1, 4}, [](const Output& x) { return ops::expand_dims(x, 0); }), (Dims{1, -1, 4}));
  EXPECT_EQ(inferred({1, 4, 1}, [](const Output& x) { return ops::squeeze(x); }), (Dims{4}));
  EXPECT_EQ(inferred({1, -1, 1}, [](const Output& x) { return ops::squeeze(x, {-1}); }), (Dims{1, -1}));
  EXPECT_EQ(inferred({2, -1}, [](const Output& x) { return ops::one_hot(ops::arg_max(x), 9); }), (Dims{2, 9}));
  EXPECT_EQ(inferred({2, -1}, [](const Output& x) { return ops::shape(x); }), (Dims{2}));
}

TEST(Shape, TensorsMadeFromShapes) {
  const Tensor x({2, 3}, {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f});
  EXPECT_EQ(run_op<std::int64_t>([](const Inputs& in) { return ops::shape(in[0]); }, {x}),
            (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(run_op<std::int64_t>([](const Inputs& in) { return ops::shape(in[0]); }, {Tensor(1.0f)}),
            std::vector<std::int64_t>{});
  EXPECT_EQ(run_op<std::int64_t>([](const Inputs& in) { return ops::size(in[0]); }, {x}), std::vector<std::int64_t>{6});
  EXPECT_EQ(run_op<float>([](const Inputs& in) { return ops::ones_like(in[0]); }, {x}), std::vector<float>(6, 1));
  EXPECT_EQ(run_op<float>([](const Inputs& in) { return ops::zeros_like(in[0]); }, {x}), std::vector<float>(6, 0));
  EXPECT_EQ(run_op<std::int32_t>(
                [](const Inputs& in) {
                  return ops::fill(in[0].graph(), {2, 2}, -7, DType::kInt32);
                },
                {x}),
            std::vector<std::int32_t>(4, -7));
  EXPECT_EQ(run_op<double>(
                [](const Inputs& in) {
                  return ops::zeros(in[0].graph(), {0, 2}, DType::kFloat64);
                },
                {x}),
            std::vector<double>{});
  EXPECT_EQ(run_op<float>([](const Inputs& in) { return ops::ones(in[0].graph(), {}); }, {x}), std::vector<float>{1});
}

TEST(Shape, TensorsOfDtypesForStorageAreMadeFromShapes) {
  const Tensor x({2}, {5.0f, 6.0f});
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
    SCOPED_TRACE(dtype_name(dtype));
    const auto cast_back = [&](Output (*function)(const Output&, std::string_view)) {
      return [=](const Inputs& in) { return ops::cast(function(ops::cast(in[0], dtype), {}), DType::kFloat32); };
    };
    EXPECT_EQ(run_op<float>(cast_back(ops::ones_like), {x}), (std::vector<float>{1, 1}));
    EXPECT_EQ(run_op<float>(cast_back(ops::zeros_like), {x}), (std::vector<float>{0, 0}));
    EXPECT_EQ(
        run_op<float>(
            [=](const Inputs& in) { return ops::cast(ops::fill(in[0].graph(), {2}, -1.5, dtype), DType::kFloat32); },
            {x}),
        (std::vector<float>{-1.5, -1.5}));
    // So a gradient can begin at one.
    EXPECT_EQ(
        run_op<float>(
            [=](const Inputs& in) { return in[0].graph().gradients({ops::cast(in[0] * 2.0, dtype)}, {in[0]})[0]; },
            {x}),
        (std::vector<float>{2, 2}));
  }
}

TEST(Shape, AShapeNeedsNoValue) {
  // Only the shape of the product counts: no kernel of it may be made, though it would fail.
  EXPECT_EQ(
      run_op<float>([](const Inputs& in) { return ops::ones_like(ops::check_numerics(in[0] / 0.0, "must not run")); },
                    {Tensor({2}, {1.0f, 2.0f})}),
      (std::vector<float>{1, 1}));
}

TEST(OneHot, SetsTheIndexedElement) {
  const Build one_hot = [](const Inputs& in) { return ops::one_hot(in[0], 3); };
  EXPECT_EQ(run_op<float>(one_hot, {Tensor({4}, {2, 0, 3, -1})}),
            (std::vector<float>{0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(run_op<std::int32_t>([](const Inputs& in) { return ops::one_hot(in[0], 2, 5, -5, DType::kInt32); },
                                 {Tensor(std::int64_t{1})}),
            (std::vector<std::int32_t>{-5, 5}));
  EXPECT_EQ(run_op<float>(one_hot, {Tensor(DType::kInt64, {0})}), std::vector<float>{});
}

TEST(Shape, BadInputIsNamed) {
  EXPECT_EQ(
      build_error(reshaped({4, 2}), {{DType::kFloat32, {2, 3}}}),
      "INVALID_ARGUMENT: node 'Reshape' (Reshape): input 0 (float32 [2, 3]) with 6 elements cannot be reshaped to [4, "
      "2]");
  EXPECT_EQ(
      build_error(reshaped({4, -1}), {{DType::kFloat32, {2, 3}}}),
      "INVALID_ARGUMENT: node 'Reshape' (Reshape): input 0 (float32 [2, 3]) with 6 elements cannot be reshaped to [4, "
      "?]");
  EXPECT_EQ(
      build_error(reshaped({0, -1}), {{DType::kFloat32, {2, 0}}}),
      "INVALID_ARGUMENT: node 'Reshape' (Reshape): input 0 (float32 [2, 0]) with 0 elements cannot be reshaped to [0, "
      "?]");
  EXPECT_EQ(build_error(reshaped({-1, -1}), {{DType::kFloat32, {2, 3}}}),
            "INVALID_ARGUMENT: node 'Reshape' (Reshape): attribute 'shape' has more than one -1: [?, ?]");
  EXPECT_EQ(build_error(reshaped({-2}), {{DType::kFloat32, {2, 3}}}),
            "INVALID_ARGUMENT: node 'Reshape' (Reshape): attribute 'shape' has the dimension -2");
  EXPECT_EQ(
      run_error(reshaped({4, -1}), {Tensor({3}, {1.0f, 2.0f, 3.0f})}),
      "INVALID_ARGUMENT: node 'Reshape' (Reshape): input 0 (float32 [3]) with 3 elements cannot be reshaped to [4, ?]");
  EXPECT_EQ(
      build_error([](const Inputs& in) { return ops::reshape_like(in[0], in[1]); },
                  {{DType::kFloat32, {2, 3}}, {DType::kFloat32, {5}}}),
      "INVALID_ARGUMENT: node 'ReshapeLike' (ReshapeLike): input 0 (float32 [2, 3]) cannot be reshaped to the shape of "
      "input 1 (float32 [5])");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::expand_dims(in[0], 3); }, {{DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'ExpandDims' (ExpandDims): axis 3 is not in [-2, 2)");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::squeeze(in[0], {0}); }, {{DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'Squeeze' (Squeeze): dimension 0 of input 0 (float32 [2]) is not 1");
  EXPECT_EQ(
      build_error([](const Inputs& in) { return ops::flatten(in[0]); }, {{DType::kFloat32, {2, -1}}}),
      "INVALID_ARGUMENT: flatten: 'Placeholder:0' (float32 [2, ?]) must have known dimensions after the first; reshape "
      "it with the sizes meant");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::one_hot(in[0], 3); }, {{DType::kFloat32, {2}}}),
            "INVALID_ARGUMENT: node 'OneHot' (OneHot): input 0 (float32 [2]) must be int32 or int64");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::one_hot(in[0], -1); }, {{DType::kInt32, {2}}}),
            "INVALID_ARGUMENT: node 'OneHot' (OneHot): attribute 'depth' must be at least 0, got -1");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::one_hot(in[0], 2, 1, 0, DType::kBFloat16); },
                        {{DType::kInt32, {2}}}),
            "INVALID_ARGUMENT: node 'OneHot' (OneHot): attribute 'dtype' is bfloat16, a dtype for storage; use float32 "
            "and cast it");
  EXPECT_EQ(build_error(reshaped({std::int64_t{1} << 32, std::int64_t{1} << 32}), {{DType::kFloat32, {0}}}),
            "INVALID_ARGUMENT: node 'Reshape' (Reshape): attribute 'shape' has too many elements: [4294967296, "
            "4294967296]");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::fill(in[0].graph(), {-1}, 0); }, {{DType::kFloat32, {}}}),
            "INVALID_ARGUMENT: node 'Fill' (Fill): attribute 'shape' must be known, got [?]");
  EXPECT_EQ(build_error([](const Inputs& in) { return ops::ones_like(in[0]); }, {{DType::kString, {2}}}),
            "INVALID_ARGUMENT: node 'OnesLike' (OnesLike): input 0 (string [2]) must be a number or bool");
}

}  // namespace
}  // namespace belay::runtime::testing
