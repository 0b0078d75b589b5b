// SPDX-License-Identifier: Apache-2.0
// One of the processes that train together is killed. The remaining ones continue in the same processes.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>
#include <regex>
#include <thread>

#include "tests/e2e/left_by_hooks.h"
#include "tests/e2e/ranks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class LostRanks : public Ranks {
 protected:
  static constexpr int kSteps = 500;  // a second and more

  std::string lost(const std::string& dir, const std::string& keys, int steps = kSteps) const {
    const std::string path = endless(dir, steps);
    write_file(path, contents(path) + keys + "[session]\nlog_step_count_steps = 20\nrecovery_backoff_secs = 0.1\n");
    return path;
  }
  // Starts them, and waits until the chief logs `said`: then all have made a step, or some more.
  static std::vector<Process> started(const std::string& path, int size, const char* said = "progress: step ") {
    std::vector<Process> all = start_all(path, size);
    EXPECT_TRUE(all[0]->wait_for(said)) << all[0]->wait().err;
    return all;
  }
  // A step's, as the last line of metrics.jsonl has it.
  double examples_per_step(const std::string& dir) const {
    const std::string lines = contents(temp / (dir + "/metrics.jsonl"));
    const std::regex rates(R"("steps_per_sec":([0-9.e+]+),"examples_per_sec":([0-9.e+]+))");
    double last = 0;
    for (auto found = std::sregex_iterator(lines.begin(), lines.end(), rates); found != std::sregex_iterator(); ++found)
      last = std::stod((*found)[2]) / std::stod((*found)[1]);
    return last;
  }
  // The result of a run without a fault.
  std::string undisturbed(int size) const {
    train(lost("whole", "on_lost_rank = \"wait\"\n"), size);
    return weights_of("whole", kSteps);
  }
  static void expect_ends_well(const std::vector<Process>& all) {
    for (const ProcessResult& r : wait_for_all(all)) EXPECT_EQ(r.status, 0) << r.err;
  }
};

TEST_F(LostRanks, WithoutAKilledWorkerTheOthersGoOnInTheSameProcesses) {
  std::vector<Process> all = started(lost("run", "on_lost_rank = \"continue\"\n"), 3);
  all[1]->kill(SIGKILL);
  all[1]->wait();
  all.erase(all.begin() + 1);
  const std::vector<ProcessResult> results = wait_for_all(all);
  for (const ProcessResult& r : results) {
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("rank 1 was lost; 2 ranks continue after step "));
    EXPECT_THAT(r.err, HasSubstr("(regrouping 1)"));
  }
  EXPECT_THAT(results[0].err + results[0].out, HasSubstr("1 recoveries"));
  EXPECT_FALSE(weights_of("run", kSteps).empty());
  EXPECT_TRUE(std::filesystem::exists(std::string(temp / "run/finished")));
  EXPECT_NEAR(examples_per_step("run"), 32, 0.5);
}

TEST_F(LostRanks, AProcessInThePlaceOfAKilledWorkerMakesTheRunWhatItWouldHaveBeen) {
  const std::string whole = undisturbed(3);
  const std::string path = lost("run", "on_lost_rank = \"wait\"\n");
  std::vector<Process> all = started(path, 3);
  all[2]->kill(SIGKILL);
  all[2]->wait();
  all[2] = start(path, 2, 3);
  const std::vector<ProcessResult> results = wait_for_all(all);
  for (const ProcessResult& r : results) EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(results[0].err, HasSubstr("rank 2 was replaced; 3 ranks continue after step "));
  EXPECT_FALSE(whole.empty());
  EXPECT_EQ(weights_of("run", kSteps), whole);
}

// There is no checkpoint but those of the start and the end, so the chief continues with the workers' values.
TEST_F(LostRanks, AChiefInThePlaceOfAKilledOneTakesTheStepsThatNoCheckpointHas) {
  const std::string whole = undisturbed(3);
  const std::string path = lost("run", "on_lost_rank = \"wait\"\n");
  std::vector<Process> all = started(path, 3, "progress: step 50/");
  all[0]->kill(SIGKILL);
  all[0]->wait();
  all[0] = start(path, 0, 3);
  const std::vector<ProcessResult> results = wait_for_all(all);
  for (const ProcessResult& r : results) EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(results[0].err, AllOf(HasSubstr("3 ranks continue after step "), HasSubstr(", which rank 1 had made")));
  EXPECT_THAT(results[0].err, Not(HasSubstr("progress: step 1/"))) << "a hook heard of a step that the others had made";
  EXPECT_FALSE(whole.empty());
  EXPECT_EQ(weights_of("run", kSteps), whole);
}

// First a worker is replaced, then the chief, whose checkpoint is older than what the others have trained.
TEST_F(LostRanks, T_155_FilesThatGrowKeepTheirLinesOverARegroupingAndAnotherChief) {
  const std::string path = lost("run", "on_lost_rank = \"wait\"\n");
  const std::string each = "tensors = [\"loss\"]\nevery_n_steps = 1\n";
  write_file(path, contents(path) + "[[hooks]]\nplugin = \"csv_logger\"\n" + each +
                       "[[hooks]]\nplugin = \"sample_dump\"\n" + each);
  std::vector<Process> all = started(path, 2, "progress: step 50/");
  for (const int killed : {1, 0}) {
    Process& victim = all[static_cast<std::size_t>(killed)];
    victim->kill(SIGKILL);
    victim->wait();
    victim = start(path, killed, 2);
    if (killed == 0) continue;
    ASSERT_TRUE(all[0]->wait_for("(regrouping 1)"));
    ASSERT_TRUE(all[0]->wait_for("progress: step 200/"));
  }
  expect_ends_well(all);
  for (const char* file : {"run/metrics.csv", "run/samples.jsonl"}) {
    const std::string text = contents(temp / file);
    std::vector<int> steps;
    const std::regex line("(^|\n)(\\{\"global_step\":)?([0-9]+),");
    for (auto found = std::sregex_iterator(text.begin(), text.end(), line); found != std::sregex_iterator(); ++found)
      steps.push_back(std::stoi((*found)[3]));
    EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end())) << file;
    EXPECT_EQ(std::adjacent_find(steps.begin(), steps.end()), steps.end()) << file;
    EXPECT_GE(steps.size(), static_cast<std::size_t>(kSteps - 2)) << file << ": of a step at most no hook hears";
  }
}

// The same session's variables in a new session, and no hook's load_state.
TEST_F(LostRanks, T_155_WhatHooksKeepOverARegroupingIsThatOfAnUndisturbedRun) {
  constexpr int kEnd = 120;
  const std::string tables = hooks_that_keep();
  const auto manifest = [&](const char* dir, const std::string& more) {
    const std::string path = lost(dir, "on_lost_rank = \"wait\"\n", kEnd);
    write_file(path, contents(path) + tables + more);
    return path;
  };
  train(manifest("whole", ""), 2);
  const std::map<std::string, std::string> expected = left_by_hooks(temp / "whole", kEnd);
  EXPECT_NE(expected.find("state of early_stopping"), expected.end());
  const std::string path = manifest("run", "[[hooks]]\nplugin = \"preempted\"\nat_run = 70\n");
  const std::vector<ProcessResult> results = wait_for_all(start_all(path, 2));
  for (const ProcessResult& r : results) EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(results[0].err, HasSubstr("2 ranks continue after step 69 (regrouping 1)"));
  const std::map<std::string, std::string> left = left_by_hooks(temp / "run", kEnd);
  EXPECT_EQ(left.size(), expected.size());
  for (const auto& [what, text] : expected) EXPECT_TRUE(left.contains(what) && left.at(what) == text) << what;
}

// A hook's UNAVAILABLE makes the session anew on one rank, and so on all; none is lost.
TEST_F(LostRanks, ARecoveryOfOneIsOneOfAllAndTrainsTheSame) {
  const std::string whole = undisturbed(2);
  const std::string path = lost("run", "on_lost_rank = \"continue\"\n");
  write_file(path, contents(path) + "[[hooks]]\nplugin = \"preempted\"\nat_run = 100\n");
  const std::vector<ProcessResult> results = wait_for_all(start_all(path, 2));
  for (const ProcessResult& r : results) EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(results[0].err, HasSubstr("2 ranks continue after step 99 (regrouping 1)"));
  EXPECT_FALSE(whole.empty());
  EXPECT_EQ(weights_of("run", kSteps), whole);
}

// The second one dies while the others form a group without the first.
TEST_F(LostRanks, TheChiefGoesOnAloneWhereTwoAreKilledOneBehindTheOther) {
  std::vector<Process> all = started(lost("run", "on_lost_rank = \"continue\"\n"), 3);
  all[1]->kill(SIGKILL);
  all[2]->kill(SIGKILL);
  const ProcessResult chief = all[0]->wait();
  EXPECT_EQ(chief.status, 0) << chief.err;
  EXPECT_THAT(chief.err, HasSubstr("1 rank continues after step "));
  EXPECT_FALSE(weights_of("run", kSteps).empty());
}

// The chief while the others form a group with the replacement of the first, or before that, or after it.
TEST_F(LostRanks, ASecondLossWhileTheyRecoverLeavesNoTrace) {
  const std::string whole = undisturbed(3);
  const std::string path = lost("run", "on_lost_rank = \"wait\"\n");
  std::vector<Process> all = started(path, 3);
  for (const int killed : {1, 0}) {
    Process& victim = all[static_cast<std::size_t>(killed)];
    victim->kill(SIGKILL);
    victim->wait();
    victim = start(path, killed, 3);
    if (killed == 1) std::this_thread::sleep_for(std::chrono::milliseconds(150));
  }
  expect_ends_well(all);
  EXPECT_FALSE(whole.empty());
  EXPECT_EQ(weights_of("run", kSteps), whole);
}

TEST_F(LostRanks, OneThatIsStoppedIsLeftBehindAndEndsWhenItIsWoken) {
  std::vector<Process> all = started(lost("run", "on_lost_rank = \"continue\"\ntimeout_secs = 1\n"), 3);
  all[1]->kill(SIGSTOP);
  const ProcessResult chief = all[0]->wait(), other = all[2]->wait();
  EXPECT_EQ(chief.status, 0) << chief.err;
  EXPECT_EQ(other.status, 0) << other.err;
  EXPECT_THAT(chief.err, HasSubstr("rank 1 was lost; 2 ranks continue after step "));
  all[1]->kill(SIGCONT);
  const ProcessResult woken = all[1]->wait();
  EXPECT_EQ(woken.status, 0) << woken.err;
  EXPECT_THAT(woken.err, HasSubstr("rank 0 has ended the run"));
}

TEST_F(LostRanks, WhereTooFewAreLeftTheRunEndsWithTheReason) {
  std::vector<Process> all =
      started(lost("run", "on_lost_rank = \"continue\"\nmin_ranks = 3\nmax_wait_secs = 1\n", 100000), 3);
  all[1]->kill(SIGKILL);
  const ProcessResult chief = all[0]->wait(), worker = all[2]->wait();
  EXPECT_EQ(chief.status, 1) << chief.err;
  EXPECT_THAT(chief.err, HasSubstr(" of 3 did not come, and those that are left are fewer than cluster.min_ranks = 3 "
                                   "(cluster.max_wait_secs = 1)"));
  EXPECT_EQ(worker.status, 1) << worker.err;
}

TEST_F(LostRanks, WhereNoneComesInItsPlaceTheRunEndsWithTheReason) {
  const std::string keys = "on_lost_rank = \"wait\"\nmax_wait_secs = 1\n";
  for (const int killed : {0, 1}) {
    std::vector<Process> all = started(lost("run_" + std::to_string(killed), keys, 100000), 2);
    all[static_cast<std::size_t>(killed)]->kill(SIGKILL);
    const ProcessResult left = all[static_cast<std::size_t>(1 - killed)]->wait();
    EXPECT_EQ(left.status, 1) << left.err;
    EXPECT_THAT(
        left.err,
        HasSubstr(killed == 0 ? "rank 0 of 2 began no other group with this rank within cluster.max_wait_secs = 1"
                              : "rank 1 of 2 was lost, and none came in its place (cluster.max_wait_secs = 1)"));
  }
}

// Its session cannot be made anew after its own error.
TEST_F(LostRanks, AChiefThatEndsWithAnErrorIsNotWaitedFor) {
  const std::string path = lost("run", "on_lost_rank = \"wait\"\n", 100000);
  write_file(path, contents(path) + "[[hooks]]\nplugin = \"preempted\"\nat_run = 50\nfail_with = \"out_of_range\"\n");
  const std::vector<ProcessResult> results = wait_for_all(start_all(path, 2));
  for (const ProcessResult& r : results) EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(results[0].err, HasSubstr("the side file is too short"));
}

// Its chief's optimizer fails in step 57 when both have the sums, and so the worker makes that step, and the chief does
// not.
TEST_F(LostRanks, AChiefThatIsAStepBehindTakesItAndItsHooksDoNotHearOfIt) {
  const std::string path = lost("run", "on_lost_rank = \"wait\"\n");
  const std::string behind = replaced(contents(path), "name = \"sgd\"", "name = \"chief_behind\"\nstep = 57");
  write_file(path, behind + "[[hooks]]\nplugin = \"logging_tensor\"\nevery_n_iter = 1\ntensors = [\"global_step\"]\n");
  const std::vector<ProcessResult> results = wait_for_all(start_all(path, 2));
  for (const ProcessResult& r : results) EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(results[0].err, HasSubstr("2 ranks continue after step 57, which rank 1 had made (regrouping 1)"));
  // A hook's fetch in a step is the number of steps before it.
  for (const int step : {56, 58, kSteps})
    EXPECT_EQ(lines_with(results[0].err, "global_step = " + std::to_string(step - 1) + " ").size(), 1U) << step;
  EXPECT_TRUE(lines_with(results[0].err, "global_step = 56 ").empty());
  EXPECT_FALSE(weights_of("run", kSteps).empty());
}

// It keeps its seat, and a chief the run's lock.
TEST_F(LostRanks, InPlaceOfAStoppedOneNoneComesUntilThatOneHasEnded) {
  const std::string path = lost("run", "on_lost_rank = \"wait\"\ntimeout_secs = 1\n");
  std::vector<Process> all = started(path, 2);
  for (const int stopped : {1, 0}) {
    Process& victim = all[static_cast<std::size_t>(stopped)];
    victim->kill(SIGSTOP);
    const ProcessResult refused = start(path, stopped, 2)->wait();
    EXPECT_EQ(refused.status, 6) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr(", pid " + std::to_string(victim->pid()) + ", since "));
    EXPECT_THAT(refused.err, HasSubstr(stopped == 0 ? "stop that one" : "or that process hangs: end it first"));
    victim->kill(SIGKILL);
    victim->wait();
    victim = start(path, stopped, 2);
    if (stopped == 1) {
      ASSERT_TRUE(all[0]->wait_for("(regrouping 1)")) << all[0]->wait().err;
    }
  }
  expect_ends_well(all);
}

TEST_F(LostRanks, AStopWhileTheyWaitForAnotherIsSaved) {
  std::vector<Process> all = started(lost("run", "on_lost_rank = \"wait\"\n", 100000), 2);
  all[1]->kill(SIGKILL);
  ASSERT_TRUE(all[0]->wait_for("recovery 1"));
  all[0]->kill(SIGTERM);
  const ProcessResult chief = all[0]->wait();
  EXPECT_EQ(chief.status, 128 + SIGTERM) << chief.err;
  EXPECT_THAT(contents(temp / "run/checkpoint"), Not(HasSubstr("model_checkpoint_path: \"model.ckpt-0\"")));
}

TEST_F(LostRanks, MoreProcessesThanThereAreCannotBeAskedFor) {
  const std::vector<std::string> two{"RANK=0", "WORLD_SIZE=2"};
  const ProcessResult many = belay({"run", lost("a", "on_lost_rank = \"continue\"\nmin_ranks = 3\n")}, two);
  EXPECT_EQ(many.status, 2);
  EXPECT_THAT(many.err, HasSubstr("cluster.min_ranks = 3, and the launcher has started 2 processes"));
  const ProcessResult other = belay({"check", lost("b", "on_lost_rank = \"wait\"\nmin_ranks = 2\n")});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("min_ranks"));
}

TEST_F(LostRanks, TheyNeedADirectoryInWhichThoseThatAreLeftFindEachOther) {
  const std::string path = lost("run", "on_lost_rank = \"wait\"\nrendezvous = \"redis://127.0.0.1:1/job\"\n");
  const ProcessResult r = belay({"check", path});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err,
              HasSubstr("with cluster.rendezvous the ranks have no directory in which those that are left find"));
}

// BELAY_RANK_KILLS: rounds; 50 in the long test. In every third one the chief is killed, whose place is taken; of the
// workers every other one's.
TEST_F(LostRanks, TheLastStepIsReachedWhicheverIsKilledWhenever) {
  const char* given = std::getenv("BELAY_RANK_KILLS");
  const std::string whole = undisturbed(3);
  std::mt19937 random(19);
  double longest = 0;
  for (int round = 0; round < (given == nullptr ? 2 : std::atoi(given)); ++round) {
    const int killed = round % 3 == 2 ? 0 : 1 + round % 2;
    const bool replaced = killed == 0 || round % 4 < 2;
    const std::string dir = "run_" + std::to_string(round);
    const std::string path = lost(dir, std::string("on_lost_rank = \"") + (replaced ? "wait" : "continue") + "\"\n");
    std::vector<Process> all = started(path, 3);
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution<>(0, 1'000'000)(random)));
    Process& victim = all[static_cast<std::size_t>(killed)];
    const auto lost_at = std::chrono::steady_clock::now();
    victim->kill(SIGKILL);
    victim->wait();
    if (replaced)
      victim = start(path, killed, 3);
    else
      all.erase(all.begin() + killed);
    // A rank that was killed after its last step is not missed.
    if (all[1]->wait_for("ranks continue after step ")) {
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - lost_at;
      longest = std::max(longest, took.count());
      EXPECT_LT(took.count(), 60) << "round " << round << ": as long as a rank that hangs (cluster.timeout_secs)";
    }
    expect_ends_well(all);
    const ProcessResult verified = belay({"checkpoint", "verify", temp / dir});
    EXPECT_EQ(verified.status, 0) << "round " << round << ": " << verified.out << verified.err;
    EXPECT_FALSE(weights_of(dir, kSteps).empty()) << "round " << round;
    if (replaced) {
      EXPECT_EQ(weights_of(dir, kSteps), whole) << "round " << round;
    }
    std::filesystem::remove_all(std::string(temp / dir));
  }
  RecordProperty("longest_until_they_go_on_secs", std::to_string(longest));
  std::cout << "they continued " << longest << " s after a kill, at the latest\n";
}

}  // namespace
}  // namespace belay::runtime::testing
