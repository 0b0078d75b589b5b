// Drives the optimizer on the real engine. It runs twice: with the optimizer linked in, and with the .so.
#include <belay/testing/optimizer_driver.h>
#include <belay/testing/testing.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

extern "C" const belay_module belay_module_my_optimizer;

namespace {

using namespace belay::testing;
using belay::Tensor;
using Numbers = std::vector<double>;

TEST(MyOptimizer, StepsAlongTheSum) {
  OptimizerDriver optimizer(module_under_test(belay_module_my_optimizer), {{"momentum", 0.5}});
  optimizer.variable("w", Tensor({2}, {1.0, -2.0}));
  optimizer.build();
  EXPECT_EQ(optimizer.slots(), std::vector<std::string>{"w/Sum"});
  const Tensor gradient({2}, {1.0, -4.0});
  optimizer.step({{"w", gradient}}, 0.25);
  EXPECT_EQ(optimizer.values("w"), (Numbers{0.75, -1}));
  optimizer.step({{"w", gradient}}, 0.25);
  EXPECT_EQ(optimizer.values("w/Sum"), (Numbers{1.5, -6}));
  EXPECT_EQ(optimizer.values("w"), (Numbers{0.375, 0.5}));
}

TEST(MyOptimizer, ChecksItsOptions) {
  EXPECT_NE(error_of([] {
              OptimizerDriver(module_under_test(belay_module_my_optimizer), {{"momentum", 2.0}});
            }).find("'momentum' is 2, must be <= "),
            std::string::npos);
}

}  // namespace
