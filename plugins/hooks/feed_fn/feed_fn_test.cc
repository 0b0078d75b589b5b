// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_feed_fn;

namespace feed_fn_test {

using namespace belay::testing;
using belay::DType;
using belay::Tensor;
using belay::TensorView;

const belay_module& module() { return module_under_test(belay_module_feed_fn); }

TEST(FeedFn, NeedsSomethingToFeed) {
  EXPECT_EQ(error_of([] { HookDriver hook(module()); }), "INVALID_ARGUMENT: 'feeds' is required");
}

TEST(FeedFn, FeedsItsValuesInEveryRun) {
  HookDriver hook(module(), {{"feeds.x", 1.5}, {"feeds.ids", std::vector<std::int64_t>{3, 4}}});
  hook.tensor<float>("x");
  hook.tensor<std::int32_t>("ids", {-1});
  hook.begin();
  hook.create_session();
  for (int i = 0; i < 2; ++i) {
    const StepResult step = hook.step();
    EXPECT_TRUE(step.fetched.empty());
    ASSERT_EQ(step.fed.size(), 2u);
    EXPECT_EQ(TensorView(step.fed.at("x").view()).scalar<float>(), 1.5f);
    const TensorView ids(step.fed.at("ids").view());
    EXPECT_EQ(ids.dims(), belay::Dims{2});
    EXPECT_EQ(ids.data<const std::int32_t>()[1], 4);
  }
}

TEST(FeedFn, AValueTakesTheTensorsTypeAndShape) {
  HookDriver hook(module(), {{"feeds.matrix", std::vector<double>{1, 2, 3, 4, 5, 6}},
                             {"feeds.training", true},
                             {"feeds.name", std::string("a")},
                             {"feeds.count", 7},
                             {"feeds.one", 0.5}});
  hook.tensor<double>("matrix", {2, -1});
  hook.tensor<bool>("training");
  hook.tensor<std::string_view>("name");
  hook.tensor<std::uint8_t>("count");
  hook.tensor<float>("one", {1});
  hook.begin();
  hook.create_session();
  const StepResult step = hook.step();
  EXPECT_EQ(step.fed.at("matrix").dims(), (belay::Dims{2, 3}));
  EXPECT_EQ(TensorView(step.fed.at("matrix").view()).number(5), 6.0);
  EXPECT_TRUE(TensorView(step.fed.at("training").view()).scalar<bool>());
  EXPECT_EQ(TensorView(step.fed.at("name").view()).text(0), "a");
  EXPECT_EQ(TensorView(step.fed.at("count").view()).scalar<std::uint8_t>(), 7);
  EXPECT_EQ(step.fed.at("one").dims(), belay::Dims{1});
}

TEST(FeedFn, AValueThatDoesNotFitIsAnErrorInBegin) {
  struct Case {
    OptionValues options;
    const char* error;
  };
  const Case cases[] = {
      {{{"feeds.y", 1.0}}, "NOT_FOUND: the graph has no 'y'"},
      {{{"feeds.x", 1.0}}, "INVALID_ARGUMENT: 'x': 1 value(s) is no value for 'x:0' (float32 [2, 3])"},
      {{{"feeds.x", std::vector<double>{1, 2}}},
       "INVALID_ARGUMENT: 'x': a list of 2 value(s) is no value for 'x:0' (float32 [2, 3])"},
      {{{"feeds.n", 1.5}}, "INVALID_ARGUMENT: 'n': a number is no value for 'n:0' (uint8 [])"},
      {{{"feeds.n", 256}}, "INVALID_ARGUMENT: 'n': 256 is no value for 'n:0' (uint8 [])"},
      {{{"feeds.n", -1}}, "INVALID_ARGUMENT: 'n': -1 is no value for 'n:0' (uint8 [])"},
      {{{"feeds.n", true}}, "INVALID_ARGUMENT: 'n': a boolean is no value for 'n:0' (uint8 [])"},
      {{{"feeds.n", std::string("1")}}, "INVALID_ARGUMENT: 'n': a string is no value for 'n:0' (uint8 [])"},
  };
  for (const Case& c : cases) {
    HookDriver hook(module(), c.options);
    hook.tensor<float>("x", {2, 3});
    hook.tensor<std::uint8_t>("n");
    EXPECT_EQ(error_of([&] { hook.begin(); }), c.error);
  }
}

}  // namespace feed_fn_test
