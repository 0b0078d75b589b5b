// SPDX-License-Identifier: Apache-2.0
// Runs that lose their session on the way: what is evaluated, what is told, and how they may end.
#include "tests/e2e/run_fixture.h"
#include "tests/monitored/event_files.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class RecoveryTest : public RunTest {
 protected:
  // A run that loses its session before the tenth of its runs and continues from step 0.
  std::string preempted(const std::string& keys = "", const std::string& more = "") {
    return regression("", more + "[[hooks]]\nplugin = \"preempted\"\n" + keys);
  }
};

TEST_F(RecoveryTest, T_01a_TheEvaluationSeesTheWeightsThatTheTrainingEndedWith) {
  const std::string eval = "[input.eval]\nplugin = \"numbers\"\nexamples = 64\nepochs = 1\n";
  const ProcessResult undisturbed = belay({"run", regression("", eval)});
  ASSERT_EQ(undisturbed.status, 0) << undisturbed.err;
  std::filesystem::remove_all(run_dir());
  const ProcessResult r = belay({"run", preempted("", eval)});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(lines_with(r.err, "; 1 recoveries"), ::testing::SizeIs(1)) << r.err;
  EXPECT_THAT(r.out, HasSubstr("eval at step 50 on 64 examples: "));
  EXPECT_EQ(r.out, undisturbed.out);
}

TEST_F(RecoveryTest, T_14a_ARunThatWentBackTellsTheStepThatItEndedAt) {
  const ProcessResult r = belay({"run", preempted("stop_at_run = 12\n")});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("ended at step 2 (")) << r.err;
  EXPECT_EQ(weights(run_dir(), 2).empty(), false);
  EXPECT_THAT(read_event_files(run_dir()).sessions.at(pb::SessionLog::STOP), ElementsAre(2));
}

TEST_F(RecoveryTest, T_02c_AnEndOfInputWhileTheSessionIsMadeAnewIsStatusOne) {
  for (const char* code : {"out_of_range", "stop"}) {
    std::filesystem::remove_all(run_dir());
    const ProcessResult r = belay({"run", preempted(std::string("fail_with = \"") + code + "\"\n")});
    EXPECT_EQ(r.status, 1) << r.err;
    EXPECT_THAT(r.err, HasSubstr("the side file is too short"));
    EXPECT_THAT(lines_with(r.err, "on_error was called"), ::testing::SizeIs(1)) << r.err;
    EXPECT_THAT(lines_with(r.err, "end was called"), IsEmpty()) << r.err;
    EXPECT_THAT(r.err, Not(HasSubstr("ended at step"))) << r.err;
  }
}

}  // namespace
}  // namespace belay::runtime::testing
