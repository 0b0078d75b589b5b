// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/kernels/broadcast.h"

#include <gtest/gtest.h>

#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

TEST(BroadcastPlan, MergesWhatIsContiguousInAllOperands) {
  const Dims a{2, 3, 4}, b{2, 3, 4}, result{2, 3, 4};
  const BroadcastPlan plan({&a, &b}, result);
  EXPECT_EQ(plan.inner(), 24);
  EXPECT_EQ(plan.rows(), 1);
  EXPECT_TRUE(plan.contiguous(0) && plan.contiguous(1));
}

TEST(BroadcastPlan, RepeatsRowsAndElements) {
  const Dims row{4}, column{6, 1}, result{6, 4};
  const BroadcastPlan plan({&row, &column}, result);
  EXPECT_EQ(plan.inner(), 4);
  EXPECT_EQ(plan.rows(), 6);
  EXPECT_TRUE(plan.contiguous(0));
  EXPECT_FALSE(plan.contiguous(1));
  EXPECT_EQ(plan.row_stride(0), 0);
  EXPECT_EQ(plan.row_stride(1), 1);
}

TEST(BroadcastPlan, RunsOfRowsStayWithinABlock) {
  const Dims a{2, 1, 3, 1}, result{2, 5, 3, 2};
  const BroadcastPlan plan({&a}, result);
  struct Run {
    std::int64_t at, first, rows;
  };
  std::vector<Run> runs;
  plan.for_each_run(1, plan.rows(), [&](const auto& at, std::int64_t first, std::int64_t rows) {
    runs.push_back({at[0], first, rows});
  });
  ASSERT_EQ(plan.rows(), 30);
  ASSERT_EQ(runs.size(), 10u);
  EXPECT_EQ(runs[0].at, 1);
  EXPECT_EQ(runs[0].rows, 2);
  EXPECT_EQ(runs[1].at, 0);
  EXPECT_EQ(runs[1].first, 3);
  EXPECT_EQ(runs[5].at, 3);
  EXPECT_EQ(runs[5].first, 15);
}

TEST(BroadcastPlan, RefusesShapesThatDoNotFit) {
  const Dims a{2}, b{3}, result{3};
  EXPECT_EQ(error_of([&] {
              BroadcastPlan({&a, &b}, result);
            }),
            "INVALID_ARGUMENT: shape [2] does not broadcast to [3]");
}

}  // namespace
}  // namespace belay::runtime::testing
