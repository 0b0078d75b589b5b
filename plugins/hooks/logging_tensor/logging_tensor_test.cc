// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "belay/testing/allocations.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_logging_tensor;

namespace logging_tensor_test {

using namespace belay::testing;
using belay::Tensor;

using Lines = std::vector<std::string>;

const std::vector<std::string> kLoss = {"loss"};

const belay_module& module() { return module_under_test(belay_module_logging_tensor); }

std::unique_ptr<HookDriver> started(const OptionValues& options, const StoredState* state = nullptr) {
  auto hook = std::make_unique<HookDriver>(module(), options);
  hook->tensor<float>("loss");
  hook->tensor<float>("accuracy");
  hook->tensor<std::int64_t>("counts", {-1});
  hook->begin();
  if (state != nullptr) hook->load_state(*state);
  hook->create_session();
  return hook;
}

TEST(LoggingTensor, RefusesUnusableOptions) {
  struct Case {
    OptionValues options;
    const char* error;
  };
  for (const Case& c : {
           Case{{{"every_n_iter", 10}}, "INVALID_ARGUMENT: 'tensors' is required"},
           Case{{{"tensors", std::vector<std::string>{}}, {"every_n_iter", 10}},
                "INVALID_ARGUMENT: 'tensors' is empty; name what to print"},
           Case{{{"tensors", kLoss}, {"every_n_iter", 0}}, "INVALID_ARGUMENT: 'every_n_iter' is 0, must be >= 1"},
           Case{{{"tensors", kLoss}, {"every_n_iter", -10}}, "INVALID_ARGUMENT: 'every_n_iter' is -10, must be >= 1"},
           Case{{{"tensors", kLoss}, {"every_n_secs", 0.0}}, "INVALID_ARGUMENT: 'every_n_secs' is 0, must be >= 0.001"},
           Case{{{"tensors", kLoss}, {"every_n_iter", 5}, {"every_n_secs", 5}},
                "INVALID_ARGUMENT: give exactly one of 'every_n_iter' and 'every_n_secs'; both are given"},
           Case{{{"tensors", kLoss}},
                "INVALID_ARGUMENT: give exactly one of 'every_n_iter' and 'every_n_secs', or at_end = true"},
           Case{{{"tensors", kLoss}, {"every_n_iter", 5}, {"format", "{los}"}},
                "INVALID_ARGUMENT: 'format' names 'los', which is not in 'tensors' (did you mean \"loss\"?)"},
           Case{{{"tensors", kLoss}, {"every_n_iter", 5}, {"format", "a {loss"}},
                "INVALID_ARGUMENT: 'format' has a '{' without '}' at character 3; write {{ for a brace"},
           Case{{{"tensors", kLoss}, {"every_n_iter", 5}, {"format", "loss}"}},
                "INVALID_ARGUMENT: 'format' has a '}' without '{' at character 5; write }} for a brace"},
       })
    EXPECT_EQ(error_of([&] { HookDriver hook(module(), c.options); }), c.error);
}

TEST(LoggingTensor, FindsItsTensorsInBegin) {
  struct Case {
    const char* name;
    const char* error;
  };
  for (const Case& c : {Case{"los", "NOT_FOUND: the graph has no 'los'; did you mean 'loss'?"},
                        Case{"loss:1", "NOT_FOUND: node 'loss' has 1 outputs, there is no 'loss:1'"},
                        Case{"split", "INVALID_ARGUMENT: 'split' has 2 outputs; name one, as 'split:0'"},
                        Case{"train", "INVALID_ARGUMENT: 'train' is an operation without a value; name a tensor"}}) {
    HookDriver hook(module(), {{"tensors", std::vector<std::string>{c.name}}, {"every_n_iter", 1}});
    hook.tensor<float>("loss");
    hook.tensor<float>("split:0");
    hook.tensor<float>("split:1");
    hook.graph().operation("train");
    EXPECT_EQ(error_of([&] { hook.begin(); }), c.error);
  }
}

TEST(LoggingTensor, FindsRolesNodesAndOutputs) {
  HookDriver hook(module(), {{"tensors", std::vector<std::string>{"loss", "split:1", "a/b"}}, {"every_n_iter", 1}});
  hook.tensor<float>("xent");
  hook.graph().role("loss", "xent");
  hook.tensor<float>("split:0");
  hook.tensor<float>("split:1");
  hook.tensor<double>("a/b");
  hook.begin();
  hook.begin_again();
  hook.create_session();
  const StepResult result = hook.step({{"xent", 0.5f}, {"split:1", 2.0f}, {"a/b", 3.5}});
  EXPECT_EQ(result.fetched, (Lines{"xent", "split:1", "a/b"}));
  EXPECT_EQ(result.logged, (Lines{"info: loss = 0.5, split:1 = 2, a/b = 3.5"}));
}

TEST(LoggingTensor, PrintsTheFirstRunAndEveryNth) {
  const auto hook = started({{"tensors", kLoss}, {"every_n_iter", 10}});
  std::vector<int> printed;
  for (int run = 1; run <= 35; ++run) {
    const StepResult result = hook->step({{"loss", static_cast<float>(run)}});
    EXPECT_EQ(result.fetched.empty(), result.logged.empty()) << run;
    if (!result.logged.empty()) printed.push_back(run);
  }
  EXPECT_EQ(printed, (std::vector<int>{1, 11, 21, 31}));
  hook->end();
  EXPECT_EQ(hook->logged().size(), 4u);
}

TEST(LoggingTensor, CountsRunsAndNotSteps) {
  auto hook = std::make_unique<HookDriver>(module(), OptionValues{{"tensors", kLoss}, {"every_n_iter", 2}});
  hook->tensor<float>("loss");
  hook->global_step(1000);
  hook->steps_per_run(50);
  hook->begin();
  hook->create_session();
  EXPECT_EQ(hook->step({{"loss", 1.f}}).logged.size(), 1u);
  EXPECT_EQ(hook->step().logged.size(), 0u);
  EXPECT_EQ(hook->step().logged.size(), 1u);
}

TEST(LoggingTensor, LaterLinesTellTheTimeSinceTheLast) {
  const auto hook = started({{"tensors", std::vector<std::string>{"loss", "accuracy"}}, {"every_n_iter", 2}});
  EXPECT_EQ(hook->step({{"loss", 0.25f}, {"accuracy", 0.5f}}).logged, (Lines{"info: loss = 0.25, accuracy = 0.5"}));
  hook->host().clock.advance(1);
  hook->step();
  hook->host().clock.advance(0.2345);
  EXPECT_EQ(hook->step({{"loss", 0.125f}}).logged, (Lines{"info: loss = 0.125, accuracy = 0.5 (1.234 sec)"}));
}

TEST(LoggingTensor, PrintsEveryNSeconds) {
  const auto hook = started({{"tensors", kLoss}, {"every_n_secs", 1.0}});
  EXPECT_EQ(hook->step({{"loss", 1.f}}).logged.size(), 1u);
  EXPECT_EQ(hook->step().logged.size(), 0u);
  hook->host().clock.advance(1.0);
  EXPECT_EQ(hook->step().logged, (Lines{"info: loss = 1 (1.000 sec)"}));
  hook->end();
  EXPECT_EQ(hook->logged().size(), 2u);
}

TEST(LoggingTensor, AtEndAlonePrintsOnce) {
  const auto hook = started({{"tensors", kLoss}, {"at_end", true}});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(hook->step({{"loss", 2.f}}).fetched.empty());
  EXPECT_EQ(hook->logged(), Lines{});
  hook->end();
  EXPECT_EQ(hook->logged(), (Lines{"info: loss = 2"}));
  ASSERT_EQ(hook->session().raw_runs().size(), 1u);
  EXPECT_EQ(hook->session().raw_runs()[0].fetches, kLoss);
  hook->destroy();
}

TEST(LoggingTensor, AtEndPrintsOnceMore) {
  const auto by_runs = started({{"tensors", kLoss}, {"every_n_iter", 10}, {"at_end", true}});
  by_runs->step({{"loss", 2.f}});
  by_runs->host().clock.advance(3);
  by_runs->end();
  EXPECT_EQ(by_runs->logged(), (Lines{"info: loss = 2", "info: loss = 2 (3.000 sec)"}));

  const auto by_time = started({{"tensors", kLoss}, {"every_n_secs", 1.0}, {"at_end", true}});
  by_time->step({{"loss", 2.f}});
  by_time->end();
  EXPECT_EQ(by_time->logged(), (Lines{"info: loss = 2", "info: loss = 2 (0.000 sec)"}));
}

TEST(LoggingTensor, AFormatReplacesTheLine) {
  const auto hook = started({{"tensors", std::vector<std::string>{"loss", "accuracy"}},
                             {"every_n_iter", 1},
                             {"format", "{{qqq}}={accuracy} {loss}!"}});
  EXPECT_EQ(hook->step({{"loss", 42.f}, {"accuracy", 0.5f}}).logged, (Lines{"info: {qqq}=0.5 42!"}));
  EXPECT_EQ(hook->step().logged, (Lines{"info: {qqq}=0.5 42!"}));
}

TEST(LoggingTensor, PrintsAnyValue) {
  const auto hook = started({{"tensors", std::vector<std::string>{"loss", "counts"}}, {"every_n_iter", 1}});
  EXPECT_EQ(
      hook->step({{"loss", std::numeric_limits<float>::quiet_NaN()}, {"counts", Tensor({3}, {1l, 2l, 3l})}}).logged,
      (Lines{"info: loss = nan, counts = [1, 2, 3]"}));
  EXPECT_EQ(hook->step({{"loss", 0.69314718f}, {"counts", Tensor({100}, std::vector<std::int64_t>(100, 7))}}).logged,
            (Lines{"info: loss = 0.6931472, counts = [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, ...] (0.000 sec)"}));
}

TEST(LoggingTensor, ManyTensorsAreOneLine) {
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) names.push_back("t" + std::to_string(i));
  HookDriver hook(module(), {{"tensors", names}, {"every_n_iter", 1}, {"format", "{t0} {t9} {t19}"}});
  for (const std::string& name : names) hook.tensor<std::int64_t>(name);
  hook.begin();
  hook.create_session();
  HookDriver::Values values;
  for (std::int64_t i = 0; i < 20; ++i) values.emplace_back(names[static_cast<std::size_t>(i)], i);
  const StepResult result = hook.step(values);
  EXPECT_EQ(result.fetched, names);
  EXPECT_EQ(result.logged, (Lines{"info: 0 9 19"}));
}

TEST(LoggingTensor, AFailedRunIsNotCounted) {
  const auto hook = started({{"tensors", kLoss}, {"every_n_iter", 2}});
  hook->step({{"loss", 1.f}});
  hook->failed_step();
  hook->recover();
  EXPECT_EQ(hook->step().logged.size(), 0u);
  EXPECT_EQ(hook->step().logged.size(), 1u);
}

TEST(LoggingTensor, AResumedRunPrintsAtTheSameRuns) {
  const auto first = started({{"tensors", kLoss}, {"every_n_iter", 10}});
  for (int run = 1; run <= 14; ++run) first->step({{"loss", 1.f}});
  first->host().clock.advance(2);
  const StoredState state = first->save_state();
  EXPECT_EQ(state, (StoredState{{"runs", 14}, {"last_triggered_step", 10}, {"seconds_since", 2.0}}));

  const auto second = started({{"tensors", kLoss}, {"every_n_iter", 10}}, &state);
  for (int run = 15; run <= 20; ++run) EXPECT_TRUE(second->step({{"loss", 1.f}}).logged.empty()) << run;
  second->host().clock.advance(0.5);
  EXPECT_EQ(second->step().logged, (Lines{"info: loss = 1 (2.500 sec)"}));
}

TEST(LoggingTensor, AllocatesOnlyForItsLines) {
  const auto hook = started({{"tensors", kLoss}, {"every_n_iter", 100}});
  hook->probe_with(allocations);
  EXPECT_GT(hook->step({{"loss", 1.f}}).probed, 0u);
  for (int run = 2; run <= 100; ++run) ASSERT_EQ(hook->step().probed, 0u) << run;
}

}  // namespace logging_tensor_test
