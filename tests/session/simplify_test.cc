// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/simplify.h"

#include <gtest/gtest.h>

#include "belay/ops/activations.h"
#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "belay/ops/random.h"
#include "belay/ops/reductions.h"
#include "belay/ops/shape.h"
#include "belay/ops/training.h"
#include "tests/session/planned.h"

namespace belay::runtime::testing {
namespace {

class SimplifyTest : public PlanTest {
 protected:
  Output fed(const Dims& dims, DType dtype = DType::kFloat32) { return ops::placeholder(g, dtype, dims); }
  Output number(float x) { return ops::constant(g, Tensor(x)); }
};

// ---- folding

TEST_F(SimplifyTest, WhatDependsOnConstantsAloneIsComputedWhenThePlanIsMade) {
  const Output sum = number(2) + number(3);
  const Output y = fed({2}) * ops::reshape(sum * sum, {1});
  const std::unique_ptr<Plan> p = plan({y});
  EXPECT_EQ(steps(*p), Names{"Mul"});
  EXPECT_EQ(folded(*p), (Names{"Add", "Mul", "Reshape"}));
  open();
  const Output x = graph.output({graph.find_node("Placeholder")->id, 0});
  EXPECT_EQ(values<float>(y, {{x, Tensor({2}, {1.0f, -2.0f})}}), (std::vector<float>{25, -50}));
}

TEST_F(SimplifyTest, AFoldedValueCanBeFetched) {
  const Output sum = number(2) + number(3);
  open();
  EXPECT_EQ(value<float>(sum), 5);
}

TEST_F(SimplifyTest, ANodeThatSomebodyFeedsIsNotFolded) {
  const Output sum = number(2) + number(3), y = sum * number(2);
  open();
  EXPECT_EQ(values<float>(y, {{sum, Tensor(1.0f)}}), std::vector<float>{2});
  EXPECT_EQ(values<float>(y), std::vector<float>{10});
}

TEST_F(SimplifyTest, RandomNodesReadsAndLargeResultsAreNotFolded) {
  const Output v = ops::variable(g, "v", number(1));
  const std::vector<std::pair<Output, Names>> cases = {
      {ops::random_uniform(g, {2}, 0, 1), {"RandomUniform"}},
      {v + number(1), {"Add"}},
      {ops::fill(g, {100, 1000}, 1.0) * number(2), {"Fill", "Mul"}},
  };
  for (const auto& [output, expected] : cases) EXPECT_EQ(steps(*plan({output})), expected);
}

TEST_F(SimplifyTest, WhatRunsAfterOtherNodesIsNotFolded) {
  const Output v = ops::variable(g, "v", number(1));
  Output sum;
  {
    const auto after = g.after({ops::assign_add(v, number(1))});
    sum = number(2) + number(3);
  }
  EXPECT_EQ(folded(*plan({sum})), Names{});
}

// ---- twins

TEST_F(SimplifyTest, TheSameOperationOnTheSameInputsRunsOnce) {
  const Output x = fed({2, 2});
  const Output a = ops::matmul(x, x), b = ops::matmul(x, x);
  const Output y = ops::matmul(a, b);
  const std::unique_ptr<Plan> p = plan({y});
  EXPECT_EQ(steps(*p), (Names{"MatMul", "MatMul"}));
  EXPECT_EQ(twins(*p), Names{"MatMul_1 = MatMul"});
}

TEST_F(SimplifyTest, TwinsOfTwinsAndEqualConstantsAreFound) {
  const Output x = fed({2});
  const Output a = ops::exp(x * number(3)), b = ops::exp(x * number(3));
  const std::unique_ptr<Plan> p = plan({ops::reduce_sum(a, {0}, false) + ops::reduce_sum(b, {0}, true)});
  EXPECT_EQ(twins(*p), (Names{"Const_1 = Const", "Mul_1 = Mul", "Exp_1 = Exp"}));
}

TEST_F(SimplifyTest, OtherAttributesOrInputsMakeAnotherNode) {
  const Output x = fed({2, 2}), z = fed({2, 2});
  const std::vector<std::pair<Output, Output>> pairs = {
      {ops::matmul(x, x), ops::matmul(x, x, true, false)},
      {ops::matmul(x, z), ops::matmul(z, x)},
      {ops::reduce_sum(x, {0}), ops::reduce_sum(x, {1})},
      {ops::random_uniform(g, {2, 2}, 0, 1), ops::random_uniform(g, {2, 2}, 0, 1)},
  };
  for (const auto& [a, b] : pairs) EXPECT_EQ(twins(*plan({ops::group(g, {a, b})})), Names{});
}

TEST_F(SimplifyTest, ANodeThatOthersWaitForHasNoTwin) {
  const Output x = fed({2, 2}), a = ops::matmul(x, x), b = ops::matmul(x, x);
  Output y;
  {
    const auto after = g.after({b});
    y = ops::neg(x);
  }
  EXPECT_EQ(twins(*plan({ops::group(g, {a, y})})), Names{});
}

TEST_F(SimplifyTest, BothTwinsCanBeFetched) {
  const Output x = fed({2}), a = ops::exp(x) * 2.0, b = ops::exp(x) * 2.0, y = a + b;
  open();
  const Tensor zero({2}, {0.0f, 0.0f});
  const RunResult r = session().handle().run({y, a, b}, {{x, zero}});
  EXPECT_EQ(r[0].data<const float>()[1], 4);
  EXPECT_EQ(r[1].data<const float>()[1], 2);
  EXPECT_EQ(r[2].data<const float>()[1], 2);
}

TEST_F(SimplifyTest, WhatIsFetchedBesideChangesNothingOfTheBase) {
  const Output x = fed({2, 2}), w = ops::variable(g, "w", ops::fill(g, {2, 2}, 0.5));
  const Output y = ops::matmul(x, w), same = ops::matmul(x, w);
  const Output train = ops::apply_gradient_descent(w, number(0.1f), ops::matmul(y, ops::exp(y)));
  const std::unique_ptr<Plan> alone = plan({train}), watched = plan({train}, {same, ops::exp(same)});
  EXPECT_EQ(twins(*watched), twins(*alone));
  EXPECT_EQ(folded(*watched), folded(*alone));
}

// ---- gradients

TEST_F(SimplifyTest, NoGradientIsComputedForWhatNobodyTrains) {
  const Output x = fed({4, 3}), w = ops::variable(g, "w", ops::fill(g, {3, 2}, 0.5));
  const Output loss = ops::reduce_sum(ops::square(ops::matmul(x, w)));
  const std::vector<Output> grads = g.gradients({loss}, {w});
  const Names all = steps(*plan({ops::apply_gradient_descent(w, number(0.1f), grads[0])}));
  // Forward, and the one for w; none for x.
  EXPECT_EQ(std::count(all.begin(), all.end(), "MatMul"), 2);
}

TEST(SameAttrs, ComparesEveryKindOfValueByItsBits) {
  const auto with = [](AttrValue v) {
    Attrs a;
    a.set("a", std::move(v));
    return a;
  };
  const std::vector<AttrValue> different = {std::int64_t{1},
                                            std::int64_t{2},
                                            1.0,
                                            -0.0,
                                            0.0,
                                            std::string("x"),
                                            std::string("y"),
                                            std::vector<std::int64_t>{1},
                                            std::vector<std::int64_t>{1, 2},
                                            std::vector<double>{0.0},
                                            std::vector<double>{-0.0},
                                            std::vector<std::string>{"x"},
                                            std::vector<std::string>{},
                                            DenseTensor(Tensor(1.0f)),
                                            DenseTensor(Tensor(2.0f))};
  for (std::size_t i = 0; i < different.size(); ++i)
    for (std::size_t j = 0; j < different.size(); ++j)
      EXPECT_EQ(same_attrs(with(different[i]), with(different[j])), i == j) << i << " and " << j;
  EXPECT_TRUE(same_attrs(with(DenseTensor(Tensor(1.0f))), with(DenseTensor(Tensor(1.0f)))));
  EXPECT_FALSE(same_attrs(with(1.0), Attrs()));
}

}  // namespace
}  // namespace belay::runtime::testing
