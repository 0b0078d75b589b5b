// SPDX-License-Identifier: Apache-2.0
// metrics.jsonl of real runs, read by the rules of docs/reference/metrics.md.
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::Key;
using Json = nlohmann::json;

class MetricsTest : public RunTest {
 protected:
  // All lines that are objects.
  std::vector<Json> lines() const {
    std::vector<Json> all;
    std::ifstream file(run_dir() + "/metrics.jsonl");
    for (std::string line; std::getline(file, line);) {
      Json json = Json::parse(line, nullptr, false);
      if (json.is_object()) all.push_back(std::move(json));
    }
    return all;
  }
  // The value of each step that the weights have seen.
  std::map<std::int64_t, Json> history(const std::string& name) const {
    std::map<std::int64_t, Json> found;
    for (const Json& line : lines()) {
      if (line.value("event", "") == "start") found.erase(found.upper_bound(line["step"]), found.end());
      if (line.contains(name)) found[line["step"]] = line[name];
    }
    return found;
  }

  static constexpr const char* kEvery = "[[hooks]]\nplugin = \"json_lines\"\nevery_n_steps = 1\n";
};

TEST_F(MetricsTest, EachLineHasStepAttemptAndTimeAndTheLastStepHasOne) {
  ASSERT_EQ(belay({"run", regression("", "", 57)}).status, 0);
  const std::vector<Json> all = lines();
  ASSERT_GE(all.size(), 4u);
  for (const Json& line : all) {
    EXPECT_TRUE(line.at("step").is_number_integer()) << line;
    EXPECT_EQ(line.at("attempt"), 1) << line;
    EXPECT_GT(line.at("time").get<double>(), 1.6e9) << line;
  }
  EXPECT_EQ(all.front()["event"], "start");
  EXPECT_EQ(all.back()["event"], "end");
  const auto losses = history("loss");
  EXPECT_THAT(losses, Contains(Key(1)));
  EXPECT_EQ(losses.rbegin()->first, 57);
  EXPECT_EQ(history("learning_rate").at(57).get<float>(), 0.01f);
  EXPECT_TRUE(history("mean_absolute_error").at(57).is_number());
}

// The crash loses steps that are in the file, and half a line.
TEST_F(MetricsTest, BehindACrashAReaderFindsTheHistoryOfARunThatWasNeverStopped) {
  const std::string saves = "[checkpoint]\nsave_steps = 10\nsave = \"sync\"\n" + std::string(kEvery);
  ASSERT_EQ(belay({"run", regression("", saves, 40)}).status, 0);
  const auto whole = history("loss");
  std::filesystem::remove_all(run_dir());
  const ProcessResult crashed =
      belay({"run", regression("", saves + "[[hooks]]\nplugin = \"trouble\"\ncrash_at_step = 25\n", 40)});
  ASSERT_TRUE(crashed.signal != 0 || crashed.status != 0) << crashed.err;  // a sanitizer ends it with a status
  std::ofstream(run_dir() + "/metrics.jsonl", std::ios::app) << "{\"step\":25,\"att";
  const ProcessResult resumed = belay({"run", regression("", saves, 40), "--resume=changed"});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(lines().back()["attempt"], 2);
  const auto after = history("loss");
  for (const auto& [step, loss] : after)  // a fast run leaves steps out, and not always the same ones
    if (whole.count(step) != 0) {
      EXPECT_EQ(loss, whole.at(step)) << step;
    }
  EXPECT_EQ(after.rbegin()->first, 40);
}

TEST_F(MetricsTest, EvaluationsAreThereWheneverTheyCome) {
  const std::string eval = "[input.eval]\nplugin = \"numbers\"\nexamples = 64\nepochs = 1\n";
  ASSERT_EQ(belay({"run", regression("", eval)}).status, 0);
  EXPECT_TRUE(history("eval/loss").at(50).is_number()) << "the one behind the training";
  std::filesystem::remove_all(run_dir());
  const ProcessResult between = belay({"run", regression("", eval + "[eval]\nevery_steps = 20\n")});
  ASSERT_EQ(between.status, 0) << between.err;
  const auto values = history("eval/loss");
  for (const std::int64_t step : {20, 40, 50}) EXPECT_THAT(values, Contains(Key(step)));
}

TEST_F(MetricsTest, AHookOfTheManifestReplacesTheDefault) {
  ASSERT_EQ(belay({"run", regression("", "[[hooks]]\nplugin = \"json_lines\"\noutput_file = \"x.jsonl\"\n")}).status,
            0);
  EXPECT_FALSE(std::filesystem::exists(run_dir() + "/metrics.jsonl"));
  EXPECT_TRUE(std::filesystem::exists(run_dir() + "/x.jsonl"));
}

}  // namespace
}  // namespace belay::runtime::testing
