// SPDX-License-Identifier: Apache-2.0
// Weights that a plan does not write are kept in the layout that oneDNN likes best, until somebody else writes them.
#include <gtest/gtest.h>

#include <algorithm>

#include "belay/ops/convolution.h"
#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "belay/ops/reductions.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

class KeptLayoutTest : public SessionTest {
 protected:
  static constexpr std::int64_t kRows = 32, kWidth = 96;

  Output weights(const Dims& dims, double value) { return ops::variable(g, "w", ops::fill(g, dims, value)); }
  static Tensor filled(const Dims& dims, float value) {
    Tensor t(DType::kFloat32, dims);
    std::fill_n(t.data<float>(), t.size(), value);
    return t;
  }
  // A value of all elements, of which there is one.
  float only(const Output& o) {
    const std::vector<float> all = values<float>(o);
    for (const float v : all) EXPECT_EQ(v, all[0]);
    return all[0];
  }
  // Changes w without the session's knowledge: it does not look at its kept copy again.
  void overwrite(float value) {
    const DenseTensor& t = store->find("w")->value;
    std::fill_n(t.data<float>(), t.elements(), value);
  }
};

TEST_F(KeptLayoutTest, AFilterIsRearrangedOnceAndAgainAfterAWrite) {
  const Output w = weights({1, 1, 32, 32}, 1);
  const Output y = ops::convolve2d(ops::fill(g, {2, 4, 4, 32}, 1), w);
  const Output add = ops::assign_add(w, ops::fill(g, {1, 1, 32, 32}, 1));
  open();
  initialize();
  EXPECT_EQ(only(y), 32);
  overwrite(9);
  EXPECT_EQ(only(y), 32) << "it was rearranged though it had not been written";
  run(add);
  EXPECT_EQ(only(y), 320);
  store->assign("w", filled({1, 1, 32, 32}, 2).view());
  EXPECT_EQ(only(y), 64);
}

TEST_F(KeptLayoutTest, AProductFollowsWritesOfOtherPlansAndSessions) {
  const Output w = weights({kWidth, kWidth}, 1);
  const Output y = ops::matmul(ops::fill(g, {kRows, kWidth}, 1), w);
  const Output add = ops::assign_add(w, ops::fill(g, {kWidth, kWidth}, 1));
  open();
  initialize();
  DirectSession other(graph, store, {});
  for (int step = 1; step < 5; ++step) {
    EXPECT_EQ(only(y), static_cast<float>(step * kWidth));
    EXPECT_EQ(only(y), static_cast<float>(step * kWidth));
    (step % 2 == 0 ? other : session()).handle().run({add});
  }
}

TEST_F(KeptLayoutTest, AStepThatWritesItsOwnWeightsReadsThemAtEachRun) {
  const Output w = weights({kWidth, kWidth}, 1);
  const Output y = ops::matmul(ops::fill(g, {kRows, kWidth}, 1), w);
  const Output total = ops::variable(g, "total", ops::fill(g, {}, 0));
  const Output add = ops::assign_add(total, ops::reduce_max(y));
  Output train;
  {
    const auto after = g.after({add});
    train = ops::assign_add(w, ops::fill(g, {kWidth, kWidth}, 1));
  }
  open();
  initialize();
  for (int step = 0; step < 3; ++step) run(train);
  EXPECT_EQ(value<float>(total), static_cast<float>((1 + 2 + 3) * kWidth));
}

TEST_F(KeptLayoutTest, AProductBehindAWriteOfTheSameRunReadsWhatThatWrote) {
  const Output w = weights({kWidth, kWidth}, 1);
  const Output add = ops::assign_add(w, ops::fill(g, {kWidth, kWidth}, 1));
  Output y;
  {
    const auto after = g.after({add});
    y = ops::matmul(ops::fill(g, {kRows, kWidth}, 1), w);
  }
  open();
  initialize();
  for (int step = 2; step < 5; ++step) EXPECT_EQ(only(y), static_cast<float>(step * kWidth));
}

TEST_F(KeptLayoutTest, WhatIsFedIsReadAtEachRun) {
  const Output x = ops::placeholder(g, DType::kFloat32, {kRows, kWidth}),
               w = ops::placeholder(g, DType::kFloat32, {kWidth, kWidth});
  const Output y = ops::matmul(x, w);
  open();
  const Tensor ones = filled({kRows, kWidth}, 1);
  Tensor weights = filled({kWidth, kWidth}, 1);
  for (int step = 1; step < 4; ++step) {
    std::fill_n(weights.data<float>(), weights.size(), static_cast<float>(step));
    EXPECT_EQ(values<float>(y, {{x, ones}, {w, weights}})[0], static_cast<float>(step * kWidth));
  }
}

}  // namespace
}  // namespace belay::runtime::testing
