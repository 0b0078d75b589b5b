// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <regex>
#include <sstream>

#include "belay/ops/summaries.h"
#include "belay/testing/allocations.h"
#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_json_lines;

namespace json_lines_test {

using namespace belay::testing;
using belay::Tensor;

using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_json_lines); }

class JsonLines : public ::testing::Test {
 protected:
  std::unique_ptr<HookDriver> started(const OptionValues& options, std::int64_t step = 0, bool with_batch = false) {
    auto hook = std::make_unique<HookDriver>(module(), options, DriverSetup{.run_directory = dir_.path()});
    belay::ops::scalar_summary("accuracy", hook->tensor<double>("accuracy"));
    belay::ops::scalar_summary("loss", hook->tensor<float>("loss"));
    if (with_batch) {
      const belay::Output labels = hook->tensor<float>("input/label", {-1});
      labels.graph().collect(belay::collections::kInputBatch, labels);
    }
    hook->global_step(step);
    hook->begin();
    hook->create_session();
    return hook;
  }
  // Makes steps that take `seconds` each.
  static void run(HookDriver& hook, int steps, double seconds) {
    for (int i = 0; i < steps; ++i) {
      hook.host().clock.advance(seconds);
      hook.step({{"loss", 0.5f}, {"accuracy", 0.25}});
    }
  }
  std::string path() const { return dir_.path() + "/metrics.jsonl"; }
  // Returns the file's lines without their times.
  Texts lines() const {
    std::ifstream file(path());
    Texts all;
    for (std::string line; std::getline(file, line);)
      all.push_back(std::regex_replace(line, std::regex(",\"time\":[0-9.]+"), ""));
    return all;
  }

  const TemporaryFolder dir_;
};

TEST_F(JsonLines, RefusesUnusableOptions) {
  EXPECT_EQ(error_of([&] {
              HookDriver hook(module(), {{"output_file", "a/b"}}, {.run_directory = dir_.path()});
            }),
            "INVALID_ARGUMENT: 'output_file' is 'a/b'; give a name without '/'");
  EXPECT_EQ(error_of([] { HookDriver hook(module(), {}, {.run_directory = ""}); }),
            "INVALID_ARGUMENT: json_lines needs the run directory, and this run has none; set [run] dir");
  HookDriver hook(module(), {{"tensors", Texts{"text"}}}, {.run_directory = dir_.path()});
  hook.global_step(0);
  hook.graph().tensor("text", belay::DType::kString, belay::Dims{});
  EXPECT_EQ(error_of([&] { hook.begin(); }), "INVALID_ARGUMENT: json_lines shows scalar numbers, 'text' is none");
}

TEST_F(JsonLines, ALineHasTheScalarsOfItsStepByTheirNames) {
  const auto hook = started({});
  run(*hook, 25, 1.0);
  hook->end();
  EXPECT_EQ(lines(),
            (Texts{R"({"step":0,"attempt":1,"event":"start"})", R"({"step":1,"attempt":1,"loss":0.5,"accuracy":0.25})",
                   R"({"step":10,"attempt":1,"loss":0.5,"accuracy":0.25,"steps_per_sec":1})",
                   R"({"step":20,"attempt":1,"loss":0.5,"accuracy":0.25,"steps_per_sec":1})",
                   R"({"step":25,"attempt":1,"event":"end","loss":0.5})"}));
}

TEST_F(JsonLines, TheLastStepHasALine) {
  const auto hook = started({{"max_steps", 13}});
  run(*hook, 13, 1.0);
  hook->end();
  EXPECT_THAT(lines(), ::testing::Contains(R"({"step":13,"attempt":1,"loss":0.5,"accuracy":0.25,"steps_per_sec":1})"));
  EXPECT_EQ(lines().back(), R"({"step":13,"attempt":1,"event":"end"})");
}

TEST_F(JsonLines, ExamplesAreCountedByTheBatch) {
  const auto hook = started({{"every_n_steps", 1}}, 0, true);
  for (int i = 0; i < 2; ++i) {
    hook->host().clock.advance(0.5);
    hook->step({{"loss", 0.5f}, {"accuracy", 0.25}, {"input/label", Tensor({3}, {1.f, 2.f, 3.f})}});
  }
  hook->end();
  EXPECT_EQ(lines()[2], R"({"step":2,"attempt":1,"loss":0.5,"accuracy":0.25,"steps_per_sec":2,"examples_per_sec":6})");
}

TEST_F(JsonLines, NumbersReadBackAsTheyWereAndWhatIsNotFiniteIsNull) {
  const auto hook = started({});
  hook->host().clock.advance(1);
  hook->step({{"loss", 0.1f}, {"accuracy", 0.1}});
  EXPECT_EQ(lines().back(), R"({"step":1,"attempt":1,"loss":0.1,"accuracy":0.1})") << "it is in the file at once";
  hook->step({{"loss", std::numeric_limits<float>::quiet_NaN()}, {"accuracy", 0.1}});
  hook->end();
  EXPECT_EQ(lines().back(), R"({"step":2,"attempt":1,"event":"end","loss":null})");
}

TEST_F(JsonLines, AtMostTenLinesASecondAreWrittenAndEachIsThereASecondLater) {
  const auto hook = started({});
  std::size_t most_missing = 0;
  for (int second = 0; second < 10; ++second) {
    run(*hook, 1000, 0.001);
    const Texts all = lines();
    EXPECT_LE(all.size(), static_cast<std::size_t>(second * 10 + 20));
    const std::int64_t last = std::stoll(all.back().substr(8));
    most_missing = std::max(most_missing, static_cast<std::size_t>((second + 1) * 1000 - last));
  }
  EXPECT_LE(most_missing, 1100u);
  EXPECT_GE(lines().size(), 80u);
}

TEST_F(JsonLines, AnAttemptBeginsWithALineAndEndsOneThatWasCut) {
  {
    std::ofstream file(path());
    file << R"({"step":0,"attempt":1,"event":"start"})"
         << "\n"
         << R"({"step":7,"att)";
  }
  const auto hook = started({}, 5);
  EXPECT_EQ(lines(), (Texts{R"({"step":0,"attempt":1,"event":"start"})", R"({"step":7,"att)",
                            R"({"step":5,"attempt":1,"event":"start"})"}));
}

TEST_F(JsonLines, ARecoveryIsAStartOfItsOwn) {
  const auto hook = started({});
  run(*hook, 12, 1.0);
  hook->set_global_step(4);
  hook->recover();
  run(*hook, 1, 1.0);
  hook->end();
  const Texts all = lines();
  EXPECT_EQ(all[3], R"({"step":4,"attempt":1,"event":"start"})");
  EXPECT_EQ(all[4], R"({"step":5,"attempt":1,"loss":0.5,"accuracy":0.25})");
}

TEST_F(JsonLines, AFileThatCannotBeWrittenIsOneWarningAndTheRunGoesOn) {
  ASSERT_EQ(::symlink("/dev/null", path().c_str()), 0);
  const auto hook = started({});
  run(*hook, 30, 1.0);
  hook->end();
  EXPECT_EQ(hook->logged(),
            Texts{"warning: '" + path() +
                  "' cannot be written: it is a symbolic link, which could lead out of the run directory; the run "
                  "continues and tries again, and some lines may be missing in the file"});
}

TEST_F(JsonLines, WhatIsGatheredIsInTheFileBeforeACheckpointAndBehindAnError) {
  for (const bool fails : {false, true}) {
    std::filesystem::remove(path());
    const auto hook = started({});
    run(*hook, 1, 1.0);
    run(*hook, 30, 0.0001);
    const std::size_t before = lines().size();
    if (fails)
      hook->error(belay::Error(belay::Code::kUnknown, "x"));
    else
      hook->save();
    EXPECT_GT(lines().size(), before);
  }
}

TEST_F(JsonLines, AllocatesOnlyForItsLines) {
  const auto hook = started({{"every_n_steps", 1000}});
  run(*hook, 2, 0.01);
  hook->probe_with(allocations);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(hook->step().probed, 0u) << i;
}

}  // namespace json_lines_test
