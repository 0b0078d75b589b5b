// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "belay/ops/summaries.h"
#include "belay/testing/allocations.h"
#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_prometheus;

namespace prometheus_test {

using namespace belay::testing;
using ::testing::HasSubstr;

using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_prometheus); }

class PrometheusTest : public ::testing::Test {
 protected:
  std::unique_ptr<HookDriver> started(const OptionValues& options = {}) {
    auto hook = std::make_unique<HookDriver>(module(), options, DriverSetup{.run_directory = dir_.path()});
    belay::ops::scalar_summary("eval/top-5", hook->tensor<double>("eval/top-5"));
    belay::ops::scalar_summary("loss", hook->tensor<float>("loss"));
    hook->global_step(0);
    hook->begin();
    hook->create_session();
    return hook;
  }
  static void run(HookDriver& hook, int steps, double seconds, float loss = 0.5f) {
    for (int i = 0; i < steps; ++i) {
      hook.host().clock.advance(seconds);
      hook.step({{"loss", loss}, {"eval/top-5", 0.25}});
    }
  }
  // Returns the number as text in the file; empty: it is not there.
  std::string number(const std::string& metric) const {
    const std::string text = written(), line = "\n" + metric + "{run=\"" + dir_.path() + "\"} ";
    const std::size_t at = text.find(line);
    return at == text.npos ? "" : text.substr(at + line.size(), text.find('\n', at + 1) - at - line.size());
  }
  std::string written(const std::string& name = "metrics.prom") const {
    std::ifstream file(dir_.file(name));
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  const TemporaryFolder dir_;
};

TEST_F(PrometheusTest, RefusesUnusableOptions) {
  EXPECT_EQ(
      error_of([&] {
        started({{"output_file", "a/b"}});
      }),
      "INVALID_ARGUMENT: 'output_file' is an absolute path, or the name of a file in the run directory ([run] dir)");
}

TEST_F(PrometheusTest, TheFileHasTheLastNumbers) {
  const auto hook = started();
  run(*hook, 31, 1.0);
  const std::string label = "{run=\"" + dir_.path() + "\"} ";
  EXPECT_THAT(written(), HasSubstr("# TYPE belay_global_step gauge\nbelay_global_step" + label + "31\n"));
  EXPECT_THAT(written(), HasSubstr("\nbelay_attempt" + label + "1\n"));
  EXPECT_THAT(written(), HasSubstr("\nbelay_steps_per_second" + label + "1\n"));
  EXPECT_THAT(written(), HasSubstr("\nbelay_loss" + label + "0.5\n"));
  EXPECT_THAT(written(), HasSubstr("\nbelay_eval_top_5" + label + "0.25\n"));
}

TEST_F(PrometheusTest, ItIsReplacedWholeEverySoManySeconds) {
  const auto hook = started({{"output_file", dir_.file("x.prom")}, {"every_secs", 5.0}});
  run(*hook, 6, 1.0);
  const std::string first = written("x.prom");
  run(*hook, 4, 1.0);
  EXPECT_EQ(written("x.prom"), first);
  run(*hook, 1, 1.0);
  EXPECT_NE(written("x.prom"), first);
  EXPECT_FALSE(std::filesystem::exists(dir_.file("x.prom.part")));
}

TEST_F(PrometheusTest, T_111_AtTheEndTheFileHasTheNumbersOfTheLastStep) {
  const auto hook = started({{"every_secs", 1000.0}});
  for (int step = 1; step <= 7; ++step) run(*hook, 1, 1.0, 1.0f / static_cast<float>(step));
  EXPECT_EQ(number("belay_loss"), "1") << "of the first step";
  EXPECT_EQ(number("belay_global_step"), "1");
  hook->end();
  EXPECT_EQ(number("belay_global_step"), "7");
  EXPECT_EQ(number("belay_loss"), belay::exact_text(static_cast<double>(1.0f / 7)));
}

TEST_F(PrometheusTest, T_111_ADeadRunAFailedOneAndAFinishedOneDiffer) {
  for (const char* how : {"dies", "fails", "ends"}) {
    const auto hook = started({{"every_secs", 1000.0}});
    run(*hook, 3, 1.0);
    if (how == std::string("fails")) hook->error(belay::Error(belay::Code::kDiverged, "NaN"));
    if (how == std::string("ends")) hook->end();
    EXPECT_EQ(number("belay_finished"), how == std::string("ends") ? "1" : "0") << how;
    EXPECT_EQ(number("belay_failed"), how == std::string("fails") ? "1" : "0") << how;
    EXPECT_EQ(number("belay_global_step"), how == std::string("dies") ? "1" : "3") << how;
  }
}

TEST_F(PrometheusTest, T_111_TheLastCheckpointIsThereWithItsTime) {
  const auto hook = started({{"every_secs", 1.0}});
  run(*hook, 1, 1.0);
  EXPECT_EQ(number("belay_last_checkpoint_step"), "");
  hook->save();
  run(*hook, 1, 2.0);
  EXPECT_EQ(number("belay_last_checkpoint_step"), "1");
  EXPECT_NE(number("belay_last_checkpoint_seconds"), "");
  EXPECT_LT(std::stod(number("belay_last_checkpoint_seconds")), std::stod(number("belay_last_update_seconds")));
}

TEST_F(PrometheusTest, T_111_EvaluationsAreShownAsTheyWereLast) {
  const belay::Tensor none(std::numeric_limits<double>::quiet_NaN());
  HookDriver hook(module(), {{"every_secs", 1.0}}, DriverSetup{.run_directory = dir_.path()});
  hook.tensor<float>("loss");
  for (const char* name : {"eval/loss", "eval_small/accuracy"}) hook.tensor<double>(name);
  for (const char* name : {"eval/global_step", "eval_small/global_step"}) hook.tensor<std::int64_t>(name);
  for (const char* name : {"eval/global_step", "eval/loss", "eval_small/global_step", "eval_small/accuracy"})
    hook.graph().collect("local_variables", name);
  hook.global_step(0);
  hook.begin();
  for (const char* name : {"eval/global_step", "eval_small/global_step"})
    hook.session().set_value(name, belay::Tensor(std::int64_t{-1}));
  for (const char* name : {"eval/loss", "eval_small/accuracy"}) hook.session().set_value(name, none);
  hook.create_session();
  const auto step = [&](float loss) {
    hook.host().clock.advance(2);
    hook.step({{"loss", loss}});
  };
  step(0.5f);
  EXPECT_EQ(number("belay_loss"), "0.5");
  EXPECT_EQ(number("belay_eval_loss"), "") << "not evaluated yet";
  hook.session().set_value("eval/loss", belay::Tensor(0.75));
  hook.session().set_value("eval/global_step", belay::Tensor(std::int64_t{1}));
  step(0.25f);
  EXPECT_EQ(number("belay_eval_loss"), "0.75");
  EXPECT_EQ(number("belay_eval_global_step"), "1");
  EXPECT_EQ(number("belay_eval_small_accuracy"), "");
  hook.session().set_value("eval_small/accuracy", belay::Tensor(0.875));
  hook.session().set_value("eval_small/global_step", belay::Tensor(std::int64_t{2}));
  hook.end();
  EXPECT_EQ(number("belay_eval_small_accuracy"), "0.875");
}

TEST_F(PrometheusTest, T_111_AStartThatMakesNoStepKeepsTheNumbers) {
  StoredState state;
  {
    const auto hook = started();
    run(*hook, 4, 1.0, 0.125f);
    hook->save();
    state = hook->save_state();
    hook->end();
  }
  HookDriver again(module(), {}, DriverSetup{.run_directory = dir_.path()});
  belay::ops::scalar_summary("loss", again.tensor<float>("loss"));
  again.global_step(4);
  again.begin();
  again.load_state(state);
  again.create_session();
  again.end();
  EXPECT_EQ(number("belay_loss"), "0.125");
  EXPECT_EQ(number("belay_global_step"), "4");
}

TEST_F(PrometheusTest, T_112_TwoScalarsOfOneNameAreRefusedWithBoth) {
  const auto error = [&](const Texts& tensors) {
    return error_of([&] {
      HookDriver hook(module(), {{"tensors", tensors}}, DriverSetup{.run_directory = dir_.path()});
      for (const char* name : {"eval/x_loss", "eval_x/loss", "attempt", "loss"}) hook.tensor<double>(name);
      hook.global_step(0);
      hook.begin();
    });
  };
  EXPECT_THAT(
      error({"loss", "eval/x_loss", "eval_x/loss"}),
      HasSubstr("prometheus would call both 'eval/x_loss' and 'eval_x/loss' belay_eval_x_loss: leave one of them "
                "out of 'tensors', or give a metric another name"));
  EXPECT_THAT(error({"attempt"}), HasSubstr("prometheus would call both the file's own and 'attempt' belay_attempt"));
  EXPECT_THAT(error({"loss", "loss"}), HasSubstr("prometheus would call both 'loss' and 'loss' belay_loss"));
}

TEST_F(PrometheusTest, PromtoolReadsIt) {
  if (std::system("command -v promtool > /dev/null") != 0)
    GTEST_SKIP() << "there is no promtool; apt-get install prometheus";
  const auto hook = started();
  run(*hook, 30, 1.0);
  run(*hook, 11, 1.0, std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(written(), HasSubstr(" NaN\n"));
  EXPECT_EQ(std::system(("promtool check metrics < '" + dir_.file("metrics.prom") + "'").c_str()), 0) << written();
}

TEST_F(PrometheusTest, AFileThatCannotBeWrittenIsOneWarning) {
  const auto hook = started({{"output_file", dir_.file("none/x.prom")}});
  run(*hook, 50, 1.0);
  ASSERT_EQ(hook->logged().size(), 1u);
  EXPECT_THAT(hook->logged()[0], HasSubstr("/none/x.prom' cannot be written: No such file or directory"));
}

TEST_F(PrometheusTest, AllocatesOnlyWhenItWrites) {
  const auto hook = started({{"every_secs", 1000.0}});
  run(*hook, 2, 0.01);
  hook->probe_with(allocations);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(hook->step().probed, 0u) << i;
}

}  // namespace prometheus_test
