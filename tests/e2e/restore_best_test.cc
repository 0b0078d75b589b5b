// SPDX-License-Identifier: Apache-2.0
// restore_best if a run is stopped from outside: a run that continues from there is the run that was never disturbed.
#include <signal.h>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kLastStep = 200;

// The worst accuracy counts as the best, so that is an early one: the last weights are not the best.
class RestoreBestInARun : public RunTest {
 protected:
  RestoreBestInARun() {
    write_file(manifest_,
               "[run]\nmax_steps = " + std::to_string(kLastStep) +
                   "\nthreads = 1\n[input.train]\nplugin = \"digits\"\nexamples = 500\nbatch_size = 50\nshuffle = "
                   "true\n[input.eval]\nplugin = \"digits\"\nsplit = \"eval\"\nexamples = 100\nepochs = 1\n[model]\n"
                   "plugin = \"mlp\"\nhidden = [16]\n[optimizer]\nname = \"adam\"\nlearning_rate = 0.01\n"
                   "[eval]\nevery_steps = 20\n[checkpoint]\nkeep_best = 2\nbest_metric = \"eval/accuracy\"\n"
                   "best_mode = \"min\"\n[[hooks]]\nplugin = \"trouble\"\n[[hooks]]\nplugin = \"restore_best\"\n");
  }
  static std::string in(const std::string& dir) { return "run.dir=\"" + dir + "\""; }
  // So slow that it does not come to its end meanwhile.
  std::vector<std::string> slowly(const std::string& dir) const {
    return {"run",   manifest_,
            "--set", in(dir),
            "--set", "hooks.0.dawdle_in=after_run",
            "--set", "hooks.0.dawdle_secs=0.02",
            "--set", "hooks.0.dawdle_each=true"};
  }
  ProcessResult whole(const std::string& dir) const { return belay({"run", manifest_, "--set", in(dir)}); }
  void expect_the_undisturbed_run(const std::string& dir) const {
    const ProcessResult undisturbed = whole(temp / "undisturbed");
    ASSERT_EQ(undisturbed.status, 0) << undisturbed.err;
    ASSERT_THAT(told(undisturbed), HasSubstr("restore_best: the weights are now those of step "));
    const ProcessResult rest = whole(dir);
    ASSERT_EQ(rest.status, 0) << rest.err;
    EXPECT_EQ(weights(dir, kLastStep), weights(temp / "undisturbed", kLastStep));
    EXPECT_EQ(contents(dir + "/best"), contents(temp / "undisturbed/best"));
    EXPECT_EQ(rest.out, undisturbed.out);
  }
  static constexpr const char* kStay = "restore_best: the weights stay those of step ";

 private:
  const std::string manifest_ = temp / "train.toml";
};

TEST_F(RestoreBestInARun, StoppedBySigtermItGoesOnAsIfItHadNotBeen) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const std::string dir = temp / ("stopped" + std::to_string(signal));
    BelayProcess run(slowly(dir));
    ASSERT_TRUE(run.wait_for("eval: step 40:"));
    run.kill(signal);
    const ProcessResult r = run.wait();
    ASSERT_EQ(r.signal, signal) << r.err;
    EXPECT_THAT(r.err, HasSubstr(kStay));
    expect_the_undisturbed_run(dir);
  }
}

TEST_F(RestoreBestInARun, EndedByMaxTimeItGoesOnAsIfItHadNotBeen) {
  const std::string dir = temp / "ended";
  // The first time that is long enough for an evaluation, on a machine that may be slow.
  for (int seconds = 1; lines_with(contents(dir + "/metrics.jsonl"), "eval").empty(); seconds *= 2) {
    ASSERT_LE(seconds, 64);
    std::vector<std::string> args = slowly(dir);
    args.push_back("--max-time=" + std::to_string(seconds) + "s");
    const ProcessResult r = belay(args);
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("--max-time is over"));
  }
  expect_the_undisturbed_run(dir);
}

// The evaluation of the last step takes half a second, and comes after the step's checkpoint.
class TheLastEvaluation : public RunTest {
 protected:
  static constexpr int kEnd = 20;
  std::string manifest(int every_steps) const {
    const std::string path = temp / "train.toml";
    write_file(path,
               "[run]\nmax_steps = 20\nthreads = 1\n[input.train]\nplugin = \"numbers\"\n[input.eval]\nplugin = "
               "\"numbers\"\nexamples = 40\nbatch_size = 8\nepochs = 1\ndelay_secs = 0.1\n[model]\nplugin = "
               "\"linear\"\n[optimizer]\nname = \"sgd\"\nlearning_rate = 0.01\n[checkpoint]\nsave_steps = 5\n"
               "save_secs = 0\nsave = \"sync\"\nkeep_best = 2\nbest_metric = \"eval/loss\"\nbest_mode = \"max\"\n"
               "[eval]\nat_start = false\nevery_steps = " +
                   std::to_string(every_steps) + "\n[[hooks]]\nplugin = \"restore_best\"\n");
    return path;
  }
  std::vector<std::string> in(const std::string& dir, int every_steps) const {
    return {"run", manifest(every_steps), "--set", "run.dir=\"" + std::string(temp / dir) + "\""};
  }
};

TEST_F(TheLastEvaluation, T_156_WhereItIsKilledTheNextStartMakesItAndEndsAsIfNothingHadBeen) {
  for (const int every_steps : {10, 8}) {  // of which 20 is a multiple, and is none
    const std::string whole = "whole" + std::to_string(every_steps);
    const ProcessResult undisturbed = belay(in(whole, every_steps));
    ASSERT_EQ(undisturbed.status, 0) << undisturbed.err;
    ASSERT_THAT(undisturbed.err, HasSubstr("the weights are now those of step "));
    for (const int signal : {SIGKILL, SIGTERM}) {
      const std::string dir = "cut" + std::to_string(every_steps) + "_" + std::to_string(signal);
      BelayProcess run(in(dir, every_steps));
      ASSERT_TRUE(run.wait_for("model.ckpt-20"));
      run.kill(signal);
      EXPECT_EQ(run.wait().signal, signal);
      const ProcessResult rest = belay(in(dir, every_steps));
      ASSERT_EQ(rest.status, 0) << rest.err;
      EXPECT_EQ(weights(temp / dir, kEnd), weights(temp / whole, kEnd)) << rest.err;
      EXPECT_EQ(contents(temp / dir + "/best"), contents(temp / whole + "/best"));
      EXPECT_EQ(rest.out, undisturbed.out);
    }
  }
}

// Behind the hooks' end: the last checkpoint has the restored weights, whose evaluation is none of the training's.
TEST_F(TheLastEvaluation, T_156_WhatWasRestoredIsNotTakenForTheLastStep) {
  for (const int every_steps : {10, 8}) {
    const std::string dir = "run" + std::to_string(every_steps);
    ASSERT_EQ(belay(in(dir, every_steps)).status, 0);
    const std::string best = contents(temp / dir + "/best"), restored = weights(temp / dir, kEnd);
    std::filesystem::remove(temp / dir + "/finished");  // as if it had been killed before that
    std::filesystem::remove(temp / dir + "/evaluations");
    const ProcessResult again = belay(in(dir, every_steps));
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(contents(temp / dir + "/best"), best) << again.err;
    EXPECT_EQ(weights(temp / dir, kEnd), restored);
  }
}

TEST_F(TheLastEvaluation, T_157_AStartThatMakesNoStepKeepsTheCurveOfTheEvaluations) {
  ASSERT_EQ(belay(in("run", 5)).status, 0);
  std::filesystem::remove(temp / "run/evaluations");
  const auto points = [&] { return belay({"events", temp / "run/eval", "--tag", "loss", "--csv"}).out; };
  const std::string before = points();
  ASSERT_THAT(before, HasSubstr("loss"));
  ASSERT_EQ(belay(in("run", 5)).status, 0);
  EXPECT_THAT(lines_with(points(), ",true"), ::testing::IsEmpty()) << "made again by a later attempt";
  EXPECT_THAT(points(), HasSubstr(before));
}

}  // namespace
}  // namespace belay::runtime::testing
