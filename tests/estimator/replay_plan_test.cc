// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/replay_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

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
  // Killed at 130 and at 260, gone on from 100 and 200.
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
  EXPECT_EQ(attempt_of(history, 160), 2);  // behind its last line, perhaps
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

}  // namespace
}  // namespace belay::runtime
