// SPDX-License-Identifier: Apache-2.0
// A signal in every phase of a run, a hook that hangs in any callback, an input that fails in its thread.
#include <signal.h>

#include <chrono>
#include <filesystem>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RunFaults : public RunTest {
 protected:
  // With a hook that dawdles in this callback.
  std::string dawdling(const std::string& callback, const std::string& secs, int max_steps = 100'000,
                       const std::string& session = "") {
    return regression("",
                      "[session]\n" + session + "\n[[hooks]]\nplugin = \"trouble\"\ndawdle_in = \"" + callback +
                          "\"\ndawdle_secs = " + secs + "\n",
                      max_steps);
  }
  // The step at which the run reports its end; -1 if it does not report it once.
  static int ended_at(const ProcessResult& r) {
    const std::vector<std::string> ended = lines_with(r.err, "info ended at step ");
    return ended.size() == 1 ? std::stoi(ended[0].substr(ended[0].find("step ") + 5)) : -1;
  }
};

// ---- SIGTERM (its phases "step" and "input wait" are in exit_status_test.cc) ----

TEST_F(RunFaults, ASignalWhileTheRunStartsEndsItWithNothingToSave) {
  // The first batch is read before the run directory is made.
  BelayProcess run({"run", regression("hang_at_batch = 0\n")});
  ASSERT_TRUE(run.wait_until([&] {
    return contents("/proc/" + std::to_string(run.pid()) + "/maps").find("/numbers.so") != std::string::npos;
  }));
  run.kill(SIGTERM);
  EXPECT_EQ(run.wait().signal, SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(run_dir()));
}

TEST_F(RunFaults, ASignalEndsARunWhoseLibraryHangsWhileItIsLoaded) {
  std::filesystem::copy_file(BELAY_BINARY_DIR "/tests/bad_plugins/unusual/plugins/deadlock.so", temp / "x.so");
  BelayProcess run({"run", regression("", "[[hooks]]\nfile = \"./x.so\"\n")});
  ASSERT_TRUE(run.wait_until(
      [&] { return contents("/proc/" + std::to_string(run.pid()) + "/maps").find("/x.so") != std::string::npos; }));
  run.kill(SIGTERM);
  EXPECT_EQ(run.wait().signal, SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(run_dir()));
}

TEST_F(RunFaults, ASignalWhileTheSessionIsMadeIsServedWhenItStands) {
  BelayProcess run({"run", dawdling("after_create_session", "0.3")});
  ASSERT_TRUE(run.wait_for("dawdles in after_create_session")) << run.wait().err;
  run.kill(SIGTERM);
  const ProcessResult r = run.wait();
  EXPECT_EQ(r.signal, SIGTERM) << r.err;
  EXPECT_EQ(ended_at(r), 0) << r.err;
  EXPECT_FALSE(weights(run_dir(), 0).empty()) << r.err;
}

TEST_F(RunFaults, ASignalBeforeThereIsASessionEndsTheRunAndLeavesNothing) {
  BelayProcess run({"run", dawdling("begin", "0.3")});
  ASSERT_TRUE(run.wait_for("dawdles in begin")) << run.wait().err;
  run.kill(SIGTERM);
  const ProcessResult r = run.wait();
  EXPECT_EQ(r.signal, SIGTERM) << r.err;
  EXPECT_THAT(r.err, HasSubstr("before training began, in hook \"trouble\""));
}

TEST_F(RunFaults, ASignalDuringASaveLetsItFinishAndLosesNoStep) {
  for (const char* callback : {"before_save", "after_save"}) {
    std::filesystem::remove_all(run_dir());
    BelayProcess run({"run", dawdling(callback, "0.3")});
    ASSERT_TRUE(run.wait_for(std::string("dawdles in ") + callback)) << run.wait().err;
    run.kill(SIGTERM);
    const ProcessResult r = run.wait();
    EXPECT_EQ(r.signal, SIGTERM) << r.err;
    const int step = ended_at(r);
    ASSERT_GE(step, 0) << r.err;
    EXPECT_FALSE(weights(run_dir(), step).empty()) << r.err;
  }
}

TEST_F(RunFaults, ASignalWhileHooksEndLosesNoStep) {
  BelayProcess run({"run", dawdling("end", "0.3", 5)});
  ASSERT_TRUE(run.wait_for("dawdles in end")) << run.wait().err;
  run.kill(SIGTERM);
  const ProcessResult r = run.wait();
  EXPECT_EQ(r.signal, SIGTERM) << r.err;
  EXPECT_EQ(ended_at(r), 5) << r.err;
  EXPECT_FALSE(weights(run_dir(), 5).empty()) << r.err;
}

TEST_F(RunFaults, ASignalDuringTheEvaluationEndsItAndTheTrainingIsSaved) {
  BelayProcess run({"run", regression("",
                                      "[input.eval]\nplugin = \"numbers\"\nexamples = 16000\nepochs = 1\n"
                                      "delay_secs = 0.05\n",
                                      5)});
  ASSERT_TRUE(run.wait_for("info ended at step 5")) << run.wait().err;
  run.kill(SIGTERM);
  const ProcessResult r = run.wait();
  EXPECT_EQ(r.signal, SIGTERM) << r.err;
  EXPECT_EQ(r.out, "");
  EXPECT_FALSE(weights(run_dir(), 5).empty()) << r.err;
}

// ---- a hook that hangs ----

TEST_F(RunFaults, AHookThatHangsInAnyCallbackIsNamedAndTheRunEnds) {
  for (const char* callback :
       {"begin", "after_create_session", "before_run", "after_run", "before_save", "after_save", "end"}) {
    std::filesystem::remove_all(run_dir());
    const ProcessResult r = belay({"run", dawdling(callback, "0", 5, "no_progress_secs = 0.6")});
    EXPECT_EQ(r.status, 124) << callback << r.err;
    const std::string where = std::string(", in hook \"trouble\" (trouble.so 1.0.0, train.toml:15) in ") + callback;
    EXPECT_THAT(lines_with(r.err, "warning no progress for "), SizeIs(1)) << r.err;
    EXPECT_THAT(lines_with(r.err, where), SizeIs(2)) << r.err;  // the warning, and the end
    EXPECT_GE(lines_with(r.err, "thread ").size(), 2u) << r.err;
    EXPECT_GE(lines_with(r.err, "trouble.so(").size(), 1u) << "the stack of the one that hangs: " << r.err;
  }
  // Earlier saves are whole, and the next run continues.
  const ProcessResult again = belay({"run", regression("", "", 8)});
  EXPECT_EQ(again.status, 0) << again.err;
}

// It writes while the training continues until the next save is due.
TEST_F(RunFaults, ASaverThatHangsIsNamedWhenTheRunWaitsForItAndTheRunEnds) {
  const ProcessResult r =
      belay({"run", regression("",
                               "[checkpoint]\nsave_steps = 10\n[scaffold]\nsaver = { plugin = \"faulty_saver\", in = "
                               "\"write\", how = \"hang\" }\n[session]\nno_progress_secs = 0.6\n")});
  EXPECT_EQ(r.status, 124) << r.err;
  EXPECT_THAT(lines_with(r.err, "step 10 is to be saved while the checkpoint of step 0 is still being written"),
              SizeIs(1))
      << r.err;
  EXPECT_THAT(lines_with(r.err, ", in saver \"faulty_saver\" (faulty.so 1.0.0, train.toml:16) in write at step 0"),
              SizeIs(2))
      << r.err;  // the warning, and the end
  EXPECT_GE(lines_with(r.err, "faulty.so(").size(), 1u) << "the stack of the one that hangs: " << r.err;
}

TEST_F(RunFaults, WhatHangsWhileTheRunStartsIsNamedAndTheRunEnds) {
  std::filesystem::copy_file(BELAY_BINARY_DIR "/tests/bad_plugins/unusual/plugins/deadlock.so", temp / "x.so");
  const std::string patience = "[session]\nno_progress_secs = 0.6\n";
  const struct {
    std::string input, more, where, library;
  } cases[] = {
      {"hang_at_batch = 0\n", patience, ", in input \"train\" of \"numbers\" (numbers.so 1.0.0, train.toml:5) in next",
       "numbers.so"},
      {"", patience + "[[hooks]]\nfile = \"./x.so\"\n", ", in plugin '" + temp / "x.so" + "', which is being loaded",
       "x.so"},
  };
  for (const auto& c : cases) {
    const ProcessResult r = belay({"run", regression(c.input, c.more)});
    EXPECT_EQ(r.status, 124) << r.err;
    EXPECT_THAT(lines_with(r.err, "warning no progress for "), SizeIs(1)) << r.err;
    EXPECT_THAT(lines_with(r.err, c.where), SizeIs(2)) << r.err;  // the warning, and the end
    EXPECT_GE(lines_with(r.err, c.library + "(").size(), 1u) << "the stack of the one that hangs: " << r.err;
    EXPECT_FALSE(std::filesystem::exists(run_dir()));
  }
}

// Before the first step a save syncs eight times and more, each for 0.3 s.
TEST_F(RunFaults, T_63d_ASlowSaveIsProgress) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer's runtime cannot come behind a preloaded library";
  const ProcessResult r =
      belay({"run", regression("", "[session]\nno_progress_secs = 1\n", 5)}, {"LD_PRELOAD=" BELAY_SLOW_DISK});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(lines_with(r.err, "no progress"), IsEmpty()) << r.err;
  EXPECT_FALSE(weights(run_dir(), 5).empty()) << r.err;
}

// The same for a hook that writes by itself as for the saver: each sync of its file takes twice the limit.
TEST_F(RunFaults, T_171_ASlowDiskUnderAHooksFileIsWaitedFor) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer's runtime cannot come behind a preloaded library";
  const std::string more =
      "[session]\nno_progress_secs = 1\n[[hooks]]\nplugin = \"csv_logger\"\ntensors = [\"loss\"]\n"
      "output_file = \"losses.csv\"\n";
  const ProcessResult r = belay({"run", regression("", more, 5)}, {"LD_PRELOAD=" BELAY_SLOW_DISK});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(lines_with(r.err, "no progress"), IsEmpty()) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the disk has not answered for ")) << r.err;
  EXPECT_THAT(r.err, HasSubstr("s, in hook \"csv_logger\"")) << r.err;
  EXPECT_FALSE(weights(run_dir(), 5).empty()) << r.err;
}

// The linear model's checkpoint has 5 float32, the scale of the learning rate and the int64 step: 32 bytes.
TEST_F(RunFaults, ADiskWithoutRoomForACheckpointIsRefusedBeforeTheRunAndATightOneIsAWarning) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer's runtime cannot come behind a preloaded library";
  const std::string manifest = regression("", "", 5);
  const auto with_free = [&](const char* bytes, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = {"run", manifest};
    args.insert(args.end(), more.begin(), more.end());
    return belay(args, {"LD_PRELOAD=" BELAY_SMALL_DISK, std::string("FREE_BYTES=") + bytes});
  };
  const ProcessResult full = with_free("31");
  EXPECT_EQ(full.status, 2) << full.err;
  EXPECT_THAT(lines_with(full.err,
                         "run' has 31 bytes free, and a checkpoint of this model takes 32 bytes: no checkpoint could "
                         "be kept; free some room, or train without checkpoints by --allow-full-disk"),
              SizeIs(1))
      << full.err;
  EXPECT_FALSE(std::filesystem::exists(run_dir())) << "nothing is made";
  const ProcessResult allowed = with_free("31", {"--allow-full-disk"});
  EXPECT_EQ(allowed.status, 7) << "it trains, and nothing is saved: " << allowed.err;
  EXPECT_THAT(lines_with(allowed.err, "ended at step 5 "), SizeIs(1)) << allowed.err;
  std::filesystem::remove_all(run_dir());
  const std::string tight = " more checkpoints take 192 bytes: free some, or lower max_to_keep of [checkpoint]";
  const ProcessResult few = with_free("191");
  EXPECT_EQ(few.status, 0) << few.err;
  EXPECT_THAT(lines_with(few.err, "warning the disk of '" + run_dir() + "' has 191 bytes free, and 6" + tight),
              SizeIs(1))
      << few.err;
  std::filesystem::remove_all(run_dir());
  const ProcessResult enough = with_free("192");
  EXPECT_EQ(enough.status, 0) << enough.err;
  EXPECT_THAT(lines_with(enough.err, "the disk of"), IsEmpty()) << enough.err;
}

// ---- what is not finite ----

TEST_F(RunFaults, T_61a_ABatchThatIsNotFiniteIsNamedAtItsStep) {
  const ProcessResult r = belay({"run", regression("nan_at_batch = 5\n")});
  EXPECT_EQ(r.status, 4) << r.err;
  EXPECT_THAT(
      lines_with(
          r.err,
          "warning the training is no longer finite after step 6; first 'input/x', element 0 of [16, 4], is nan"),
      SizeIs(1))
      << r.err;
}

TEST_F(RunFaults, T_61a_AGradientThatIsNotFiniteIsNamedByItsVariableAStepBeforeTheLoss) {
  const ProcessResult r = belay({"run", regression(), "--set", "model.plugin=zero_length"});
  EXPECT_EQ(r.status, 4) << r.err;
  EXPECT_THAT(lines_with(r.err,
                         "warning the training is no longer finite after step 1; first the variable 'zeros', element 0 "
                         "of [3], is nan"),
              SizeIs(1))
      << r.err;
  EXPECT_THAT(lines_with(r.err, "'loss' is nan at step 2: training has diverged"), SizeIs(1)) << r.err;
}

// ---- an input that fails in its thread ----

TEST_F(RunFaults, AnInputThatFailsInItsThreadEndsTheRunSoonWithItsRecord) {
  const auto start = std::chrono::steady_clock::now();
  const ProcessResult r = belay({"run", regression("prefetch = 8\nfail_at_batch = 5\nfail_with = \"data_loss\"\n")});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));  // not the grace period of 120 s
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(lines_with(r.err, "record 5 is damaged"), SizeIs(1)) << r.err;
  EXPECT_THAT(lines_with(r.err, "still running"), IsEmpty()) << r.err;
}

TEST_F(RunFaults, AnInputThatEndsEarlyIsANormalEndAndAnEmptyOneAMistake) {
  const ProcessResult early = belay({"run", regression("epochs = 1\nexamples = 40\n", "", 1000)});
  EXPECT_EQ(early.status, 0) << early.err;
  EXPECT_EQ(ended_at(early), 3) << early.err;
  EXPECT_THAT(lines_with(early.err, "the input ended: [input.train] (numbers, "), SizeIs(1)) << early.err;
  std::filesystem::remove_all(run_dir());
  const ProcessResult empty = belay({"run", regression("epochs = 1\nexamples = 0\n", "", 1000)});
  EXPECT_EQ(empty.status, 2) << empty.err;
  EXPECT_FALSE(std::filesystem::exists(run_dir()));
}

TEST_F(RunFaults, T_45_AModelThatUsesNothingOfItsInputTakesABatchAStepAndEndsWithIt) {
  const ProcessResult r =
      belay({"run", regression("epochs = 2\nexamples = 64\n", "", 1'000'000), "--set", "model.plugin=blind"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(ended_at(r), 8) << r.err;
  EXPECT_THAT(lines_with(r.err, "the input ended: [input.train] (numbers, "), SizeIs(1)) << r.err;
  EXPECT_THAT(lines_with(r.err, "warning nothing of the input reaches the training step"), SizeIs(1)) << r.err;
  // It continues at its last batch.
  std::filesystem::remove_all(run_dir());
  const std::string input = "epochs = 2\nexamples = 64\n";
  EXPECT_EQ(ended_at(belay({"run", regression(input, "", 5), "--set", "model.plugin=blind"})), 5);
  const ProcessResult resumed = belay({"run", regression(input, "", 1'000'000), "--set", "model.plugin=blind"});
  EXPECT_EQ(ended_at(resumed), 8) << resumed.err;
}

}  // namespace
}  // namespace belay::runtime::testing
