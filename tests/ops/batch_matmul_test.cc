// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "belay/ops/matmul.h"
#include "tests/ops/kernel_check.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

Build batch_product(bool ta, bool tb) {
  return [=](const Inputs& in) { return ops::batch_matmul(in[0], in[1], ta, tb); };
}
Dims dims_of(Dims batch, std::int64_t rows, std::int64_t columns, bool transposed) {
  batch.push_back(transposed ? columns : rows);
  batch.push_back(transposed ? rows : columns);
  return batch;
}

struct Batches {
  Dims a, b;
};
const Batches kBatches[] = {{{}, {}}, {{3}, {3}}, {{2, 3}, {3}}, {{3}, {2, 1}}, {{2, 1, 2}, {3, 1}}, {{1}, {4}}};

TEST(BatchMatMul, GradientsAgreeWithFiniteDifferences) {
  for (const Batches& batch : kBatches)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        SCOPED_TRACE(dims_text(batch.a) + dims_text(batch.b) + (ta ? "T" : "N") + (tb ? "T" : "N"));
        check_gradients(batch_product(ta, tb), {{dims_of(batch.a, 2, 3, ta)}, {dims_of(batch.b, 3, 4, tb)}});
      }
}

TEST_F(SessionTest, BatchMatMulHasGradientsForOperandsOfUnknownRank) {
  const Output any_a = ops::placeholder_of_any_rank(g, DType::kFloat32, "a");
  const Output any_b = ops::placeholder_of_any_rank(g, DType::kFloat32, "b");
  const Output b = ops::placeholder(g, DType::kFloat32, {2, 1}, "b");
  const std::vector<Output> both = g.gradients({ops::batch_matmul(any_a, any_b)}, {any_a, any_b});
  const std::vector<Output> one = g.gradients({ops::batch_matmul(any_a, b)}, {any_a, b});
  EXPECT_EQ(both[0].rank(), -1);
  EXPECT_EQ(one[1].dims(), (Dims{2, 1}));
  open();
  const Tensor x({2, 1, 2}, {1.f, 2.f, 3.f, 4.f}), y({2, 1}, {10.f, 20.f});
  const std::vector<float> to_a = {10, 20, 10, 20}, to_b = {4, 6};
  EXPECT_EQ(values<float>(both[0], {{any_a, x}, {any_b, y}}), to_a);
  EXPECT_EQ(values<float>(both[1], {{any_a, x}, {any_b, y}}), to_b);
  EXPECT_EQ(values<float>(one[0], {{any_a, x}, {b, y}}), to_a);
  EXPECT_EQ(values<float>(one[1], {{any_a, x}, {b, y}}), to_b);
}

TEST(BatchMatMul, Float32AgreesWithFloat64) {
  struct Sizes {
    std::int64_t m, n, k;
  };
  for (const Batches& batch : {Batches{{5}, {5}}, Batches{{2, 3}, {3}}, Batches{{0}, {1}}, Batches{{}, {}}})
    for (const Sizes& s :
         {Sizes{1, 1, 1}, {0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {5, 17, 33}, {64, 32, 50}, {65, 70, 130}, {130, 130, 140}})
      for (const bool ta : {false, true})
        for (const bool tb : {false, true}) {
          SCOPED_TRACE(dims_text(batch.a) + dims_text({s.m, s.n, s.k}) + (ta ? "T" : "N") + (tb ? "T" : "N"));
          check_float32(batch_product(ta, tb), {{dims_of(batch.a, s.m, s.k, ta)}, {dims_of(batch.b, s.k, s.n, tb)}},
                        1e-4);
        }
}

TEST(BatchMatMul, IsTheProductOfEachPair) {
  EXPECT_EQ(
      run_op<float>(batch_product(false, true), {Tensor({2, 1, 2}, {1.f, 2.f, 3.f, 4.f}), Tensor({1, 2}, {10.f, 1.f})}),
      (std::vector<float>{12, 34}));
}

TEST(BatchMatMul, BadInputIsNamed) {
  struct Case {
    std::vector<Spec> inputs;
    const char* error;
  };
  for (const Case& c :
       {Case{{{DType::kFloat32, {2, 3, 4}}, {DType::kFloat32, {2, 5, 6}}},
             "INVALID_ARGUMENT: node 'BatchMatMul' (BatchMatMul): input 0 (float32 [2, 3, 4]) has 4 columns, input 1 "
             "(float32 [2, 5, 6]) has 5 rows; they must agree"},
        Case{{{DType::kFloat32, {2, 3, 4}}, {DType::kFloat32, {3, 4, 6}}},
             "INVALID_ARGUMENT: node 'BatchMatMul' (BatchMatMul): the dimensions of input 0 (float32 [2, 3, 4]) and "
             "input 1 (float32 [3, 4, 6]) before the last two do not fit each other"},
        Case{{{DType::kFloat32, {4}}, {DType::kFloat32, {3, 4, 6}}},
             "INVALID_ARGUMENT: node 'BatchMatMul' (BatchMatMul): input 0 (float32 [4]) must have at least 2 "
             "dimensions"},
        Case{
            {{DType::kFloat32, {3, 4}}, {DType::kFloat64, {4, 6}}},
            "INVALID_ARGUMENT: node 'BatchMatMul' (BatchMatMul): input 0 (float32 [3, 4]) and input 1 (float64 [4, 6]) "
            "must have the same dtype"},
        Case{{{DType::kInt32, {3, 4}}, {DType::kInt32, {4, 6}}},
             "INVALID_ARGUMENT: node 'BatchMatMul' (BatchMatMul): input 0 (int32 [3, 4]) must be float32 or float64"}})
    EXPECT_EQ(build_error(batch_product(false, false), c.inputs), c.error);
}

TEST(DenseLast, IsADenseLayerOnTheLastDimension) {
  const std::unique_ptr<OpRegistry> registry = make_op_registry();
  NodeGraph graph(*registry);
  const Graph g = graph.handle();
  const Output x = ops::placeholder(g, DType::kFloat32, {-1, 5, 3});
  const Output y = ops::dense_last(x, 4, {.activation = ops::Activation::kRelu});
  EXPECT_EQ(y.dims(), (Dims{-1, 5, 4}));
  EXPECT_EQ(g.find("dense/kernel").dims(), (Dims{3, 4}));
  EXPECT_EQ(ops::dense_last(ops::placeholder(g, DType::kFloat32, {-1, 3}), 4).dims(), (Dims{-1, 4}));
}

TEST(DenseLast, BadInputIsNamed) {
  const Build dense = [](const Inputs& in) { return ops::dense_last(in[0], 4, {.name = "d"}); };
  EXPECT_EQ(build_error(dense, {{DType::kFloat32, {-1, -1, 28}}}),
            "INVALID_ARGUMENT: dense_last 'd': 'Placeholder:0' (float32 [?, ?, 28]) must have a known last dimension, "
            "and of the others at most one unknown");
  EXPECT_EQ(build_error(dense, {{DType::kFloat32, {2, 3, -1}}}),
            "INVALID_ARGUMENT: dense_last 'd': 'Placeholder:0' (float32 [2, 3, ?]) must have a known last dimension, "
            "and of the others at most one unknown");
}

}  // namespace
}  // namespace belay::runtime::testing
