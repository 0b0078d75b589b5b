// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/replay/replay_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/platform/faulty_file_system.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

std::string start(int attempt, int step) {
  return "{\"step\":" + std::to_string(step) + ",\"attempt\":" + std::to_string(attempt) + ",\"event\":\"start\"}\n";
}
std::string line(int attempt, int step) {
  return "{\"step\":" + std::to_string(step) + ",\"attempt\":" + std::to_string(attempt) + ",\"loss\":0.5}\n";
}
std::string digest(int attempt, int step, char digit) {
  return "{\"step\":" + std::to_string(step) + ",\"attempt\":" + std::to_string(attempt) +
         ",\"event\":\"state_digest\",\"state_digest\":\"" + std::string(32, digit) + "\"}\n";
}
std::int64_t attempt_of(const RunHistory& history, std::int64_t step) {
  const MadeSteps* made = who_made(history, step);
  return made == nullptr ? 0 : made->attempt;
}

TEST(RunHistory, AStepIsOfTheLastAttemptThatMadeIt) {
  // Killed at 130 and at 260, continued from 100 and 200.
  const RunHistory history =
      read_history(start(1, 0) + line(1, 130) + start(2, 100) + line(2, 260) + start(3, 200) + line(3, 300));
  EXPECT_EQ(attempt_of(history, 1), 1);
  EXPECT_EQ(attempt_of(history, 100), 1);
  EXPECT_EQ(attempt_of(history, 101), 2);
  EXPECT_EQ(attempt_of(history, 200), 2);
  EXPECT_EQ(attempt_of(history, 201), 3);
  EXPECT_EQ(history.last_step, 300);
}

TEST(RunHistory, AnAttemptThatDidNotComeSoFarDidNotMakeIt) {
  const RunHistory history = read_history(start(1, 0) + line(1, 150) + start(2, 100) + line(2, 120));
  EXPECT_EQ(attempt_of(history, 110), 2);
  EXPECT_EQ(attempt_of(history, 140), 1);
  EXPECT_EQ(attempt_of(history, 160), 2);  // after its last line, perhaps
}

TEST(RunHistory, DigestsOfStepsThatWereMadeAgainAreThoseOfTheLastTime) {
  const RunHistory history =
      read_history(start(1, 0) + digest(1, 101, 'a') + digest(1, 201, 'b') + start(2, 150) + digest(2, 251, 'c'));
  ASSERT_EQ(history.digests.size(), 2u);
  EXPECT_EQ(history.digests[0].step, 101);
  EXPECT_EQ(history.digests[1].step, 251);
  EXPECT_EQ(history.digests[1].digest, std::string(32, 'c'));
}

TEST(RunHistory, WhatIsNoLineOfItsKindsIsPassedOver) {
  const RunHistory history = read_history("{\"step\":1,\"atte\n[1]\n\nnull\n{\"step\":\"7\"}\n{\"step\":-3}\n" +
                                          start(1, 0) + digest(1, 5, 'X') + "{\"step\":9,\"attempt\":1,\"ev");
  EXPECT_EQ(history.sessions.size(), 1u);
  EXPECT_TRUE(history.digests.empty());
  EXPECT_EQ(attempt_of(read_history(""), 3), 0);
}

// Lines of plain numbers and texts are read without a JSON parser, all others with one.
TEST(RunHistory, T_172_ALineSaysTheSameHoweverItIsWritten) {
  const std::string plain =
      start(1, 0) + digest(1, 101, 'a') + line(1, 130) + start(2, 120) + digest(2, 251, 'c') +
      "{\"step\":260,\"attempt\":2,\"time\":1.5e9,\"loss\":null,\"ok\":true,\"text\":\"a{b,c\"}\n";
  std::string spaced;
  for (const char c : plain) (spaced += c) += c == ':' ? " " : "";
  const std::string nested =
      start(1, 0) + digest(1, 101, 'a') + line(1, 130) + start(2, 120) + digest(2, 251, 'c') +
      "{\"hparams\":{\"step\":9},\"matrix\":[[1,2],[3,4]],\"text\":\"\\\"event\\\":\",\"step\":260,\"attempt\":2}\n";
  for (const std::string& text : {plain, spaced, nested, plain.substr(0, plain.size() - 1)}) {
    const RunHistory history = read_history(text);
    ASSERT_EQ(history.sessions.size(), 2u) << text;
    EXPECT_EQ(history.sessions[0].to, 130) << text;
    EXPECT_EQ(history.sessions[1].from, 120) << text;
    EXPECT_EQ(history.sessions[1].attempt, 2) << text;
    EXPECT_EQ(history.last_step, 260) << text;
    ASSERT_EQ(history.digests.size(), 2u) << text;
    EXPECT_EQ(history.digests[0].step, 101) << text;
    EXPECT_EQ(history.digests[1].digest, std::string(32, 'c')) << text;
  }
  for (const char* other : {"{\"step\":\"300\"}", "{\"step\":300.5}", "{\"step\":300", "{\"step\":300}}",
                            "{\"step\":300,}", "{\"step\":}", "{}", "{\"step\":300} "})
    EXPECT_EQ(read_history(plain + other).last_step, std::string(other).ends_with(' ') ? 300 : 260) << other;
}

TEST(RunPast, T_172_TheLinesAreReadOnceAndForTheCheckpointsNotAtAll) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "model.ckpt-20");
  std::ofstream(dir / "metrics.jsonl") << start(1, 0) + line(1, 30);
  FaultyFileSystem files(posix_file_system());
  const auto run = files.open_directory(dir.path());
  const auto opened = [&] {
    const std::vector<std::string> calls = files.calls();
    return std::count(calls.begin(), calls.end(), "open metrics.jsonl");
  };
  EXPECT_EQ(checkpoints_of(*run).at(20), "model.ckpt-20");
  EXPECT_EQ(opened(), 0);
  EXPECT_EQ(read_past(*run).last_step(), 30);
  EXPECT_EQ(opened(), 1);
}

}  // namespace
}  // namespace belay::runtime
