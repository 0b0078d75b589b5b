// SPDX-License-Identifier: Apache-2.0
// Two faults at once: what one of them does to what the run does about the other.
#include <signal.h>

#include <filesystem>
#include <string>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class CompoundFaults : public RunTest {
 protected:
  // With a saver that fails as it is told.
  std::string faulty(const std::string& fault, const std::string& checkpoint, int max_steps,
                     const std::string& more = "") {
    return regression(
        "delay_secs = 0.002",
        "[checkpoint]\n" + checkpoint + "[scaffold]\nsaver = { plugin = \"faulty_saver\"" + fault + " }\n" + more,
        max_steps);
  }
  void expect_to_go_on_from(int step) {
    const ProcessResult next = belay({"run", faulty("", "save_steps = 10\n", 40)});
    EXPECT_EQ(next.status, 0) << next.err;
    EXPECT_THAT(lines_with(next.err, "info restored step " + std::to_string(step) + " from"), SizeIs(1)) << next.err;
    EXPECT_THAT(listing(run_dir()), Contains("model.ckpt-40"));
    EXPECT_THAT(listing(run_dir()), Not(Contains(HasSubstr(".tmp-"))));
  }
};

TEST_F(CompoundFaults, ADiskThatIsFullWhenASignalSavesLeavesTheCheckpointBefore) {
  BelayProcess run({"run", faulty(", in = \"write\", at_call = 2, how = \"resource_exhausted\"", "", 1'000'000)});
  ASSERT_TRUE(run.wait_for("info saved ")) << run.wait().err;
  run.kill(SIGTERM);
  const ProcessResult r = run.wait();
  EXPECT_THAT(r.err, HasSubstr("in write at step ")) << "which is named";
  EXPECT_THAT(r.err, HasSubstr("no more room"));
  EXPECT_THAT(lines_with(r.err, "info saved "), SizeIs(1)) << r.err;
  EXPECT_THAT(listing(run_dir()), Not(Contains(HasSubstr(".tmp-"))));
  expect_to_go_on_from(0);
}

TEST_F(CompoundFaults, AKillWhileARunGoesBackToAnOlderCheckpointChangesNothing) {
  ASSERT_EQ(belay({"run", faulty("", "save_steps = 10\n", 30)}).status, 0);
  std::filesystem::resize_file(run_dir() + "/model.ckpt-30/data", 3);
  BelayProcess run({"run", faulty(", in = \"read\", how = \"hang\"", "save_steps = 10\n", 40)});
  ASSERT_TRUE(run.wait_for("going back to model.ckpt-20")) << run.wait().err;
  run.kill(SIGKILL);
  run.wait();
  EXPECT_THAT(listing(run_dir()), Contains("model.ckpt-30")) << "it stays where it is";
  expect_to_go_on_from(20);
}

TEST_F(CompoundFaults, ASignalWhileTheWatchdogReportsWhatHangsLosesNothingThatWasSaved) {
  BelayProcess run({"run", faulty("", "save_steps = 10\n", 1'000'000,
                                  "[session]\nno_progress_secs = 1\n[[hooks]]\nplugin = \"trouble\"\nhang_at_step = "
                                  "25\n")});
  ASSERT_TRUE(run.wait_for("warning no progress for ")) << run.wait().err;
  run.kill(SIGTERM);
  const ProcessResult r = run.wait();
  EXPECT_TRUE(r.signal == SIGTERM || r.status == 124) << r.err;
  // A hook hangs in after_run, so the step is saved without it.
  EXPECT_THAT(r.err, HasSubstr("model.ckpt-26"));
  expect_to_go_on_from(26);
}

// ---- a wall clock that is set while a signal's grace runs ----

class JumpingClock : public CompoundFaults {
 protected:
  // A run with a hook that dawdles so long in the first step (0: for ever) gets SIGTERM, then the clock jumps.
  ProcessResult stopped(const std::string& jump_secs, const std::string& session, const std::string& dawdle_secs) {
    const std::string jump = temp / "jump";
    const std::string more =
        "[session]\n" + session +
        "\n[[hooks]]\nplugin = \"trouble\"\ndawdle_in = \"after_run\"\ndawdle_secs = " + dawdle_secs + "\n";
    BelayProcess run({"run", faulty("", "", 1'000'000, more)},
                     {"LD_PRELOAD=" BELAY_JUMPING_CLOCK, "CLOCK_JUMP_WHEN=" + jump, "CLOCK_JUMP_SECS=" + jump_secs});
    EXPECT_TRUE(run.wait_for("dawdles in after_run"));
    EXPECT_TRUE(run.wait_for("info saved ")) << "that of step 0";
    run.kill(SIGTERM);
    EXPECT_TRUE(run.wait_for("info SIGTERM"));
    write_file(jump, "now");
    const ProcessResult r = run.wait();
    EXPECT_EQ(r.signal, SIGTERM) << r.err;
    EXPECT_THAT(r.err, HasSubstr("the clock has jumped"));
    return r;
  }
  static constexpr const char *kTenDaysOn = "864000", *kTenDaysBack = "-864000";
};

// By the wall clock the grace would be over.
TEST_F(JumpingClock, OneThatJumpsOnEndsNoGraceBeforeItsTime) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer's runtime cannot come behind a preloaded library";
  const ProcessResult r = stopped(kTenDaysOn, "", "1");
  EXPECT_THAT(r.err, Not(HasSubstr("signal_grace_secs")));
  EXPECT_THAT(lines_with(r.err, "info ended at step 1"), SizeIs(1)) << r.err;
  expect_to_go_on_from(1);
}

// By the wall clock it would begin anew, ten days long.
TEST_F(JumpingClock, OneThatJumpsBackLengthensNone) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer's runtime cannot come behind a preloaded library";
  const ProcessResult r = stopped(kTenDaysBack, "signal_grace_secs = 0.5", "0");
  EXPECT_THAT(r.err, HasSubstr("ended by SIGTERM, after its signal_grace_secs = 0.5, in hook \"trouble\""));
  EXPECT_THAT(r.err, HasSubstr("model.ckpt-1, from which"));
  expect_to_go_on_from(1);
}

}  // namespace
}  // namespace belay::runtime::testing
