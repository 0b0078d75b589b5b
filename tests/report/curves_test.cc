// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/curves.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace belay::runtime {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Curve curve(std::vector<CurvePoint> points) { return {".", "loss", std::move(points)}; }

TEST(Curves, T_118_TheLastIsTheLastThoughItIsNotFinite) {
  const Curve c = curve({{1, 3}, {2, kNan}, {3, 2}, {4, kNan}, {5, kNan}});
  EXPECT_EQ(last_of(c)->step, 5);
  EXPECT_TRUE(std::isnan(last_of(c)->value));
  EXPECT_EQ(not_finite_since(c), 4);
  EXPECT_EQ(not_finite_since(curve({{1, kNan}, {2, 1}})), std::nullopt);
  EXPECT_EQ(not_finite_since(curve({})), std::nullopt);
}

TEST(Curves, TheBestIsTheFirstOfThoseThatAreEqualAndFinite) {
  const Curve c = curve({{1, 3}, {2, 0.5}, {3, kNan}, {4, 0.5}, {5, 2}, {6, kNan}});
  EXPECT_EQ(best_of(c, Better::kSmaller)->step, 2);
  EXPECT_EQ(best_of(c, Better::kLarger)->step, 1);
  EXPECT_EQ(not_finite(c), 2u);
  EXPECT_FALSE(best_of(curve({{1, kNan}}), Better::kSmaller));
  EXPECT_FALSE(last_of(curve({})));
}

TEST(Curves, AMetricIsNamedAsTheManifestNamesItsRole) {
  EXPECT_EQ(metric_name({".", "loss", {}}), "loss");
  EXPECT_EQ(metric_name({"eval", "loss", {}}), "eval/loss");
}

TEST(Curves, AFewPointsAreDrawnAsTheyAre) {
  const auto drawn = thinned(curve({{10, 1}, {20, kNan}, {40, 3}}), 10);
  ASSERT_EQ(drawn.size(), 2u);
  EXPECT_EQ(drawn[0].step, 10);
  EXPECT_EQ(drawn[1].step, 40);
  EXPECT_EQ(drawn[1].low, 3);
  EXPECT_EQ(drawn[1].high, 3);
}

TEST(Curves, ASpikeOfOneStepIsInTheBandOfManyPoints) {
  Curve c = curve({});
  for (int step = 0; step < 100'000; ++step) c.points.push_back({step, step == 51'234 ? 1000.0 : 1.0});
  const auto drawn = thinned(c, 300);
  ASSERT_EQ(drawn.size(), 300u);
  double highest = 0;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    highest = std::max(highest, drawn[i].high);
    EXPECT_LE(drawn[i].value, 5);
    EXPECT_GT(drawn[i].step, i == 0 ? -1 : drawn[i - 1].step);
  }
  EXPECT_EQ(highest, 1000);
}

TEST(Curves, ManyPointsOfOneStepAreOne) {
  const auto drawn = thinned(curve(std::vector<CurvePoint>(500, {7, 2})), 100);
  ASSERT_EQ(drawn.size(), 1u);
  EXPECT_EQ(drawn[0].step, 7);
}

}  // namespace
}  // namespace belay::runtime
