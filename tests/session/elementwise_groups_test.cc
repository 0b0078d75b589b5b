// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/elementwise_groups.h"

#include <gtest/gtest.h>

#include <cstring>

#include "belay/ops/activations.h"
#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "belay/ops/random.h"
#include "belay/ops/reductions.h"
#include "belay/ops/training.h"
#include "tests/session/planned.h"

namespace belay::runtime::testing {
namespace {

class ElementwiseGroupsTest : public PlanTest {
 protected:
  Output fed(const Dims& dims, DType dtype = DType::kFloat32) { return ops::placeholder(g, dtype, dims); }
};

TEST_F(ElementwiseGroupsTest, NodesThatFeedEachOtherBecomeOneStep) {
  const Output x = fed({4, 3}), z = fed({4, 3}), row = fed({3}), one = fed({});
  EXPECT_EQ(steps(*plan({ops::exp(x * one + row)})), Names{"Mul+Add+Exp"});
  const Output d = x - z;
  EXPECT_EQ(steps(*plan({d * ops::sigmoid(d)})), Names{"Sub+Sigmoid+Mul"});
  const Output larger = ops::greater(x, z), bent = ops::tanh(x);
  EXPECT_EQ(steps(*plan({ops::select(larger, bent, z)})), Names{"Greater+Tanh+Select"});
}

TEST_F(ElementwiseGroupsTest, AValueThatOthersReadIsAStepsOwn) {
  const Output x = fed({4, 3}), d = x * x;
  EXPECT_EQ(steps(*plan({ops::exp(d) + 1.0, ops::reduce_sum(d)})), (Names{"Mul", "Exp+Add", "Sum"}));
  EXPECT_EQ(steps(*plan({ops::exp(d) + 1.0, d})), (Names{"Mul", "Exp+Add"}));
}

TEST_F(ElementwiseGroupsTest, OtherShapesAndOtherTypesStayApart) {
  const Output x = fed({4, 3}), row = fed({3});
  EXPECT_EQ(steps(*plan({x + ops::exp(row)})), (Names{"Exp", "Add"}));
  EXPECT_EQ(steps(*plan({x + ops::exp(row * row)})), (Names{"Mul+Exp", "Add"}));
  const Output wide = fed({4, 3}, DType::kFloat64);
  EXPECT_EQ(steps(*plan({ops::exp(wide * wide)})), (Names{"Mul", "Exp"}));
}

TEST_F(ElementwiseGroupsTest, WhatAControlEdgeTouchesStaysApart) {
  const Output x = fed({4}), before = ops::exp(x);
  Output y;
  {
    const auto after = g.after({before});
    y = ops::neg(x) * 2.0;
  }
  EXPECT_EQ(steps(*plan({y})), (Names{"Exp", "Neg", "Mul"}));
}

TEST_F(ElementwiseGroupsTest, AnUpdateStaysAStepOfItsOwn) {
  const Output v = ops::variable(g, "v", ops::fill(g, {8}, 1.0)), x = fed({8});
  const Output train = ops::apply_gradient_descent(v, fed({}), ops::exp(x * 2.0) - 1.0);
  EXPECT_EQ(steps(*plan({train})), (Names{"Mul+Exp+Sub", "ApplyGradientDescent"}));
}

TEST_F(ElementwiseGroupsTest, ALongChainIsCutIntoGroups) {
  Output y = fed({4});
  for (int i = 0; i < 60; ++i) y = ops::tanh(y);
  const Names found = steps(*plan({y}));
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(std::count(found[0].begin(), found[0].end(), '+'), 11);
  EXPECT_EQ(std::count(found[2].begin(), found[2].end(), '+'), 23);
}

TEST_F(ElementwiseGroupsTest, AnInnerValueIsComputedAgainForWhoAsks) {
  const Output v = ops::variable(g, "v", ops::fill(g, {2}, 1.0)), x = fed({2});
  const Output doubled = x * 2.0, shifted = doubled + 1.0, y = shifted * shifted;
  const Output train = ops::apply_gradient_descent(v, ops::constant(g, Tensor(1.0f)), y);
  const Output aside = ops::neg(doubled);
  EXPECT_EQ(steps(*plan({train}, {aside, shifted})),
            (Names{"Mul", "Add", "Mul+Add+Mul", "Neg", "ApplyGradientDescent"}));
  open();
  initialize();
  const Tensor two({2}, {1.0f, 2.0f});
  const RunResult r = session().handle().run({train, aside, shifted, y}, {{x, two}});
  EXPECT_EQ(r[1].data<const float>()[1], -4);
  EXPECT_EQ(r[2].data<const float>()[1], 5);
  EXPECT_EQ(r[3].data<const float>()[1], 25);
  EXPECT_EQ(values<float>(v), (std::vector<float>{-8, -24}));
}

// Fetching every value swallows none: the same graph unfused. Each bit must be the same, for each way in which shapes
// meet, for sizes below and above a tile, and for one thread and two.
TEST_F(ElementwiseGroupsTest, FusedAndUnfusedGiveTheSameBits) {
  struct Case {
    Dims x, z;
  };
  const std::vector<Case> cases = {
      {{0}, {0}},
      {{1}, {1}},
      {{7}, {7}},
      {{7}, {}},
      {{5000}, {1}},
      {{100003}, {100003}},
      {{3, 5}, {5}},
      {{700, 10}, {10}},
      {{700, 10}, {1, 10}},
      {{33, 4097}, {4097}},
      {{2, 20000}, {20000}},
      {{9, 6, 5}, {6, 5}},
      {{40, 50}, {40, 1}},
      {{4, 1}, {4, 6}},
  };
  for (const Case& c : cases)
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(dims_text(c.x) + " and " + dims_text(c.z) + ", threads " + std::to_string(threads));
      NodeGraph own(*ops);
      const Graph h = own.handle();
      const Output x = ops::placeholder(h, DType::kFloat32, c.x), z = ops::placeholder(h, DType::kFloat32, c.z);
      std::vector<FetchRef> all;
      Output y = x * z;
      const auto then = [&](const Output& next) {
        all.push_back(y);
        y = next;
      };
      then(ops::exp(y));
      then(y + z);
      const Output kept = y;
      then(ops::tanh(y) * 0.5);
      then(ops::select(ops::greater(y, z), y, kept));
      then(ops::sqrt(ops::abs(y)));
      then(ops::log1p(ops::square(y)) - kept);
      own.finalize();
      DirectSessionOptions options;
      options.threads = threads;
      DirectSession session(own, std::make_shared<VariableStore>(), options);
      Tensor fed_x(DType::kFloat32, c.x), fed_z(DType::kFloat32, c.z);
      for (std::size_t i = 0; i < fed_x.size(); ++i) fed_x.data<float>()[i] = static_cast<float>(i % 97) / 37 - 1;
      for (std::size_t i = 0; i < fed_z.size(); ++i) fed_z.data<float>()[i] = static_cast<float>(i % 89) / 31 - 1.3f;
      const belay_feed feeds[] = {{x.raw(), fed_x.view()}, {z.raw(), fed_z.view()}};
      std::vector<FetchRef> everything = all;
      everything.insert(everything.begin(), y);
      FetchSet one(std::vector<FetchRef>{y}), unfused(everything);
      RunRequest request;
      request.feeds = feeds;
      request.full_team = true;
      request.fetches = &one;
      const runtime::Run fused_run = session.run(request);
      request.fetches = &unfused;
      const runtime::Run unfused_run = session.run(request);
      const std::size_t fused_steps = steps(*session.plan_of(one)).size();
      ASSERT_LT(fused_steps, steps(*session.plan_of(unfused)).size());
      const TensorView a(fused_run.result(one, 0)), b(unfused_run.result(unfused, 0));
      ASSERT_EQ(a.size(), b.size());
      EXPECT_EQ(std::memcmp(a.data<const float>(), b.data<const float>(), a.size() * sizeof(float)), 0);
    }
}

TEST_F(ElementwiseGroupsTest, AShapeThatIsKnownOnlyWhenItRunsMayBroadcastWithinTheGroup) {
  const Output x = ops::placeholder(g, DType::kFloat32, {-1, 2}), z = ops::placeholder(g, DType::kFloat32, {-1, 2});
  const Output y = ops::exp(x * 0.0) + z;
  EXPECT_EQ(steps(*plan({y})), Names{"Mul+Exp+Add"});
  open();
  EXPECT_EQ(values<float>(y, {{x, Tensor({1, 2}, {1.0f, 2.0f})}, {z, Tensor({2, 2}, {1.0f, 2.0f, 3.0f, 4.0f})}}),
            (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(values<float>(y, {{x, Tensor({1, 2}, {1.0f, 2.0f})}, {z, Tensor({1, 2}, {1.0f, 2.0f})}}),
            (std::vector<float>{2, 3}));
}

}  // namespace
}  // namespace belay::runtime::testing
