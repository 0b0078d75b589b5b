// SPDX-License-Identifier: Apache-2.0
// OptimizerDriver and ScheduleDriver report a test that drives them wrongly. Their results are tested with each plugin.
#include "belay/testing/optimizer_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "belay/testing/error_of.h"
#include "belay/testing/schedule_driver.h"

extern "C" const belay_module belay_module_cosine_decay;
extern "C" const belay_module belay_module_momentum;
extern "C" const belay_module belay_module_rmsprop;

namespace belay::testing {
namespace {

TEST(OptimizerDriver, SaysWhatATestLeftOut) {
  EXPECT_EQ(error_of([] { OptimizerDriver(belay_module_momentum).build(); }),
            "FAILED_PRECONDITION: the driver has no variables: call variable before build");
  OptimizerDriver optimizer(belay_module_momentum);
  optimizer.variable("w", Tensor(1.0));
  EXPECT_EQ(error_of([&] { optimizer.step({{"w", Tensor(1.0)}}, 1); }), "FAILED_PRECONDITION: call build first");
  optimizer.build();
  EXPECT_EQ(error_of([&] { optimizer.variable("v", Tensor(1.0)); }),
            "FAILED_PRECONDITION: the graph is built: variables come before build");
  EXPECT_EQ(error_of([&] { optimizer.step({}, 1); }), "INVALID_ARGUMENT: the step has no gradient for 'w'");
  EXPECT_EQ(error_of([&] { optimizer.value("v"); }), "NOT_FOUND: the driver has no variable 'v'; call build first");
  optimizer.step({{"w", Tensor(0.5)}}, 1);
  EXPECT_EQ(optimizer.values("w"), std::vector<double>{0.5});
  EXPECT_EQ(optimizer.global_step(), 1);
}

TEST(OptimizerDriver, AStepHasRowsOfASparseVariable) {
  OptimizerDriver optimizer(belay_module_momentum, {{"momentum", 0.5}});
  EXPECT_EQ(error_of([&] { optimizer.sparse_variable("s", Tensor(1.0)); }),
            "INVALID_ARGUMENT: the sparse variable 's' has no rows: it needs at least one dimension");
  optimizer.sparse_variable("table", Tensor({4, 1}, {1.0, 2.0, 3.0, 4.0}));
  optimizer.build();
  EXPECT_TRUE(optimizer.takes_sparse("table"));
  EXPECT_EQ(error_of([&] { optimizer.step({}, 1); }), "INVALID_ARGUMENT: the step has no rows for 'table'");
  for (int i = 0; i < 2; ++i) optimizer.step({}, {{"table", {{2, 0, 2}, Tensor({3, 1}, {0.5, 1.0, 0.25})}}}, 1);
  EXPECT_EQ(optimizer.values("table"), (std::vector<double>{-1.5, 2, 1.125, 4}));
  EXPECT_EQ(optimizer.values("table/Momentum"), (std::vector<double>{1.5, 0, 1.125, 0}));
}

TEST(OptimizerDriver, WithoutARuleTheRowsComeInTheDenseForm) {
  OptimizerDriver optimizer(belay_module_rmsprop);
  optimizer.sparse_variable("table", Tensor({3, 1}, {1.0, 2.0, 3.0}));
  optimizer.build();
  EXPECT_FALSE(optimizer.takes_sparse("table"));
  optimizer.step({}, {{"table", {{1}, Tensor({1, 1}, {0.5})}}}, 0.5);
  EXPECT_EQ(optimizer.values("table")[0], 1);
  EXPECT_LT(optimizer.values("table")[1], 2);
}

TEST(OptimizerDriver, TakesTheOptimizerOfAModule) {
  EXPECT_EQ(error_of([] { const OptimizerDriver driver(belay_module_cosine_decay); }),
            "NOT_FOUND: the module has no optimizer ''");
  EXPECT_EQ(error_of([] { OptimizerDriver(belay_module_momentum, {}, "adam"); }),
            "NOT_FOUND: the module has no optimizer 'adam'");
}

TEST(ScheduleDriver, TheRateToStartFromComesFirst) {
  ScheduleDriver schedule(belay_module_cosine_decay);
  schedule.learning_rate(0.5);
  EXPECT_EQ(schedule.rate(0), 0.5);
  EXPECT_EQ(error_of([&] { schedule.learning_rate(1); }),
            "FAILED_PRECONDITION: the graph is built: learning_rate comes before the first rate");
  EXPECT_GT(schedule.worst_error([](double) { return 0.5; }), 0.5);  // it does fall
}

}  // namespace
}  // namespace belay::testing
