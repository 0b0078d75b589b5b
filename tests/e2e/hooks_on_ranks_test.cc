// SPDX-License-Identifier: Apache-2.0
// Hooks that each process of a run has: [session] hooks_on_all_ranks.
#include <signal.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/ranks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class HooksOnRanks : public Ranks {
 protected:
  static std::string hooks(const std::string& listed, const std::string& options) {
    return "[session]\nhooks_on_all_ranks = [\"" + listed + "\"]\n[[hooks]]\nplugin = \"ranked\"\n" + options;
  }
  std::string endless_with(const std::string& dir, const std::string& more) const {
    std::string path = endless(dir);
    write_file(path, contents(path) + more);
    return path;
  }
};

TEST_F(HooksOnRanks, EachRanksHookCallsTheOthersAndNoBitIsAnother) {
  train(manifest({.dir = "plain", .steps = 30}), 2);
  const std::string path = manifest({.dir = "run", .steps = 30, .more = hooks("ranked", "")});
  for (const ProcessResult& r : wait_for_all(start_all(path, 2))) {
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, AllOf(HasSubstr("the ranks add up to 3"), HasSubstr("in 30 steps 90, at the end 3")));
  }
  EXPECT_FALSE(weights_of("plain", 30).empty());
  EXPECT_EQ(weights_of("run", 30), weights_of("plain", 30));
}

TEST_F(HooksOnRanks, OneProcessIsAGroupOfOne) {
  const ProcessResult r = belay({"run", manifest({.dir = "run", .steps = 5, .more = hooks("ranked", "")})});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("in 5 steps 5, at the end 1"));
}

TEST_F(HooksOnRanks, AStopThatAWorkersHookAsksForEndsAllAtThatStepAndIsSaved) {
  const std::string path = endless_with("run", hooks("ranked", "stop_rank = 1\nstop_step = 7\n"));
  const std::vector<ProcessResult> results = wait_for_all(start_all(path, 3));
  for (const ProcessResult& r : results) EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(results[1].err, HasSubstr("ranked: its rank asks"));
  EXPECT_THAT(results[0].err, HasSubstr("rank 1 has ended the run"));
  EXPECT_THAT(results[2].err, HasSubstr("rank 1 has ended the run"));
  EXPECT_FALSE(weights_of("run", 7).empty());
}

TEST_F(HooksOnRanks, MinStepsHoldsForAWorkersHook) {
  const std::string path = endless_with("run", hooks("ranked", "stop_rank = 1\nstop_step = 7\n"));
  const std::vector<ProcessResult> results = wait_for_all(start_all(path, 2, {"--set", "run.min_steps=20"}));
  for (const ProcessResult& r : results) EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(results[1].err, HasSubstr("not stopped at step 7, before step 20 ([run] min_steps): ranked: "));
  EXPECT_FALSE(weights_of("run", 20).empty());
}

TEST_F(HooksOnRanks, ARankThatIsKilledEndsTheOthersWhoseHooksWaitForIt) {
  const std::vector<Process> all = start_all(endless_with("run", hooks("ranked", "")), 2);
  for (const Process& p : all) ASSERT_TRUE(p->wait_for("training")) << p->wait().err;
  all[1]->kill(SIGKILL);
  const ProcessResult chief = all[0]->wait();
  all[1]->wait();
  EXPECT_EQ(chief.status, 1);
  EXPECT_THAT(chief.err, HasSubstr("rank 1 has ended or left"));
}

TEST_F(HooksOnRanks, TheirCallsGoOnAmongThoseThatAreLeft) {
  const std::string path = endless_with("run", "on_lost_rank = \"continue\"\n" + hooks("ranked", ""));
  const std::vector<Process> all = start_all(path, 3);
  for (const Process& p : all) ASSERT_TRUE(p->wait_for("training")) << p->wait().err;
  all[1]->kill(SIGKILL);
  all[1]->wait();
  ASSERT_TRUE(all[2]->wait_for("rank 1 was lost; 2 ranks continue after step ")) << all[2]->wait().err;
  all[0]->kill(SIGTERM);
  EXPECT_EQ(all[0]->wait().status, 128 + SIGTERM);
  const ProcessResult left = all[2]->wait();
  EXPECT_EQ(left.status, 0) << left.err;
  EXPECT_THAT(left.err, HasSubstr(", at the end 3; rank 1 of 2, on its machine 0, in generation 1"));
}

// A run that continues without a lost rank counts its first group from 0. A run that does not has no other group.
TEST_F(HooksOnRanks, EachKnowsItsPlaceOnItsMachine) {
  for (const std::string on_lost : {"stop", "continue"}) {
    const std::string path =
        manifest({.dir = on_lost, .steps = 5, .more = "on_lost_rank = \"" + on_lost + "\"\n" + hooks("ranked", "")});
    std::vector<Process> all;
    for (const std::string rank : {"0", "1"})
      all.push_back(std::make_unique<BelayProcess>(
          std::vector<std::string>{"run", path},
          std::vector<std::string>{"RANK=" + rank, "WORLD_SIZE=2", "LOCAL_RANK=" + rank, "LOCAL_WORLD_SIZE=2"}));
    const std::vector<ProcessResult> ended = wait_for_all(all);
    EXPECT_THAT(ended[0].err, HasSubstr("; rank 0 of 2, on its machine 0, in generation 0"));
    EXPECT_THAT(ended[1].err, HasSubstr("; rank 1 of 2, on its machine 1, in generation 0"));
  }
}

TEST_F(HooksOnRanks, ACallFromWhereAnotherRankMayNotBeIsRefused) {
  const std::string path = manifest({.dir = "run", .steps = 5, .more = hooks("ranked", "callback = \"before_run\"\n")});
  for (const ProcessResult& r : wait_for_all(start_all(path, 2))) {
    EXPECT_EQ(r.status, 1) << r.err;
    EXPECT_THAT(r.err, HasSubstr("\"ranked\" calls the other ranks in before_run"));
  }
}

TEST_F(HooksOnRanks, AHookThatIsNotListedIsTheChiefsAlone) {
  const std::string path = manifest({.dir = "run", .steps = 5, .more = "[[hooks]]\nplugin = \"ranked\"\n"});
  const std::vector<ProcessResult> results = wait_for_all(start_all(path, 2));
  EXPECT_EQ(results[0].status, 1);
  EXPECT_THAT(results[0].err,
              HasSubstr("\"ranked\" runs on rank 0 alone, and calls the other ranks, but it does not exist there: "
                        "list it in hooks_on_all_ranks of [session]"));
  EXPECT_NE(results[1].status, 0);
  EXPECT_THAT(results[1].err, Not(HasSubstr("\"ranked\"")));
}

// The state of each is in checkpoints, by rank.
TEST_F(HooksOnRanks, EachRanksHookGoesOnWithItsOwnState) {
  const std::string counted = "[session]\nhooks_on_all_ranks = [\"counted\"]\n[[hooks]]\nplugin = \"counted\"\n";
  train(manifest({.dir = "run", .steps = 12, .more = counted}), 3);
  const std::vector<ProcessResult> results =
      wait_for_all(start_all(manifest({.dir = "run", .steps = 30, .more = counted}), 3));
  for (int r = 0; r < 3; ++r) {
    const ProcessResult& result = results[static_cast<std::size_t>(r)];
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err,
                HasSubstr("counted " + std::to_string(30 * (r + 1)) + " and " + std::to_string(24 * (r + 1)) + "\n"));
  }
  const ProcessResult alone = belay({"run", manifest({.dir = "run", .steps = 40, .more = counted})});
  EXPECT_EQ(alone.status, 0) << alone.err;
  EXPECT_THAT(alone.err, AllOf(HasSubstr("state of hook 'counted@1'"), HasSubstr("counted 40 and 60\n")));
}

// Checkpoints are made while they train, and the count shows the step of a state.
TEST_F(HooksOnRanks, AStateIsOfTheCheckpointsStepOnEachRank) {
  const std::string counted =
      "[checkpoint]\nsave_steps = 20\n[session]\nhooks_on_all_ranks = [\"counted\"]\n"
      "[[hooks]]\nplugin = \"counted\"\n";
  const std::string path = endless_with("run", counted);
  const std::vector<Process> all = start_all(path, 2);
  ASSERT_TRUE(all[0]->wait_until([&] { return !weights_of("run", 40).empty(); })) << all[0]->wait().err;
  for (const Process& p : all) p->kill(SIGKILL);
  wait_for_all(all);
  const std::vector<ProcessResult> results = wait_for_all(start_all(path, 2, {"--set", "run.max_steps=1000"}));
  for (int r = 0; r < 2; ++r) {
    const ProcessResult& result = results[static_cast<std::size_t>(r)];
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("counted " + std::to_string(1000 * (r + 1)) + " and "), Not(HasSubstr(" and 0\n"))));
  }
}

// The chief asks the remaining ranks for their states, before and after the loss.
TEST_F(HooksOnRanks, TheirStatesAreSavedAmongThoseThatAreLeft) {
  const std::string path = endless_with(
      "run",
      "on_lost_rank = \"continue\"\n[checkpoint]\nsave_steps = 10\n[session]\nrecovery_backoff_secs = 0.1\n"
      "hooks_on_all_ranks = [\"counted\"]\n[[hooks]]\nplugin = \"counted\"\n");
  const std::vector<Process> all = start_all(path, 3);
  for (const Process& p : all) ASSERT_TRUE(p->wait_for("training")) << p->wait().err;
  all[1]->kill(SIGKILL);
  all[1]->wait();
  ASSERT_TRUE(all[0]->wait_for("rank 1 was lost; 2 ranks continue after step ")) << all[0]->wait().err;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // some checkpoints
  all[0]->kill(SIGTERM);
  EXPECT_EQ(all[0]->wait().status, 128 + SIGTERM);
  const ProcessResult left = all[2]->wait();
  EXPECT_EQ(left.status, 0) << left.err;
  // Two ranks are left, so it is rank 1 of the next start.
  const std::vector<ProcessResult> again = wait_for_all(start_all(path, 2, {"--set", "run.max_steps=1"}));
  for (const ProcessResult& r : again) EXPECT_EQ(r.status, 0) << r.err;
}

TEST_F(HooksOnRanks, WhatCannotBeOnAllRanksIsRefusedAtItsPlace) {
  const std::string path = manifest({.dir = "run", .more = hooks("ranket", "")});
  const ProcessResult unknown = belay({"check", path});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("the manifest has no [[hooks]] that is called \"ranket\""),
                                 HasSubstr("did you mean"), HasSubstr("run.toml:")));
  const ProcessResult twice =
      belay({"check", manifest({.dir = "run", .more = hooks("ranked", "[[hooks]]\nplugin = \"ranked\"\n")})});
  EXPECT_EQ(twice.status, 2);
  EXPECT_THAT(twice.err, HasSubstr("2 hooks are called \"ranked\""));
  const ProcessResult disabled =
      belay({"check", manifest({.dir = "run", .more = hooks("ranked", "on_error = \"disable\"\n")})});
  EXPECT_EQ(disabled.status, 2);
  EXPECT_THAT(disabled.err, HasSubstr("on_error = \"disable\" would leave the hook \"ranked\" out on one rank"));
}

}  // namespace
}  // namespace belay::runtime::testing
