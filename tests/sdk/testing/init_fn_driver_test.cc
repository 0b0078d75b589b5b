// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/init_fn_driver.h"

#include <gtest/gtest.h>

#include "belay/testing/error_of.h"

extern "C" const belay_module belay_module_sdk_test_plugins;

namespace {

using namespace belay::testing;
using belay::Tensor;

TEST(InitFnDriver, RunsOnVariables) {
  InitFnDriver init(belay_module_sdk_test_plugins, {{"value", 2.5}});
  init.variable("w", Tensor({2}, {0.f, 0.f}));
  init.variable("b", Tensor(0.f), false);
  init.run();
  EXPECT_EQ(init.text_of("w"), "[2.5, 2.5]");
  EXPECT_EQ(init.text_of("b"), "2.5");
  EXPECT_EQ(init.session().assigned(), (std::vector<std::string>{"w", "b"}));
}

TEST(InitFnDriver, VariablesAreInTheGraph) {
  InitFnDriver init(belay_module_sdk_test_plugins);
  init.variable("w", Tensor({2}, {0.f, 0.f}));
  init.variable("b", Tensor(0.f), false);
  const belay::Graph g = init.graph().handle();
  EXPECT_EQ(g.collection("variables").size(), 2u);
  EXPECT_EQ(g.collection("trainable_variables"), std::vector<belay::Output>{g.find("w")});
}

TEST(InitFnDriver, ErrorsComeOut) {
  EXPECT_EQ(error_of([] {
              InitFnDriver init(belay_module_sdk_test_plugins, {{"valu", 1}});
            }),
            "INVALID_ARGUMENT: 'valu' is not an option of init_fn 'fill'");
  InitFnDriver init(belay_module_sdk_test_plugins);
  init.variable("n", Tensor(std::int64_t{1}));
  EXPECT_EQ(error_of([&] { init.run(); }), "INVALID_ARGUMENT: the tensor is int64, not float32");
}

}  // namespace
