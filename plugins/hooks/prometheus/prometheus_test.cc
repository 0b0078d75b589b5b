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

#include "belay/ops/summaries.h"
#include "belay/testing/allocations.h"
#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_prometheus;

namespace prometheus_test {

using namespace belay::testing;
using ::testing::HasSubstr;

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

TEST_F(PrometheusTest, AtTheEndTheFileHasTheLastStep) {
  const auto hook = started({{"every_secs", 1000.0}});
  run(*hook, 7, 1.0);
  hook->end();
  const std::string label = "{run=\"" + dir_.path() + "\"} ";
  EXPECT_THAT(written(), HasSubstr("\nbelay_global_step" + label + "7\n"));
  EXPECT_THAT(written(), HasSubstr("\nbelay_loss" + label + "0.5\n")) << "of the first step, which it looked at";
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
