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
  EXPECT_THAT(r.err, HasSubstr("model.ckpt-20"));
  expect_to_go_on_from(20);
}

}  // namespace
}  // namespace belay::runtime::testing
