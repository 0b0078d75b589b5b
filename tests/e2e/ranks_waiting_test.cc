// SPDX-License-Identifier: Apache-2.0
// Processes that wait for each other: for how long, and for whom not.
#include <signal.h>

#include "tests/e2e/ranks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RankWaits : public Ranks {
 protected:
  static std::vector<std::string> with_timeout(const std::string& secs) {
    return {"--set", "cluster.timeout_secs=" + secs};
  }
};

TEST_F(RankWaits, ARankThatIsStoppedIsNamedByTheOthersAtTheTimeout) {
  for (const int stopped : {0, 1}) {
    const std::vector<Process> all = start_all(endless("run_" + std::to_string(stopped)), 3, with_timeout("2"));
    for (const Process& p : all) ASSERT_TRUE(p->wait_for("training")) << p->wait().err;
    all[static_cast<std::size_t>(stopped)]->kill(SIGSTOP);
    for (int r = 0; r < 3; ++r) {
      if (r == stopped) continue;
      const ProcessResult result = all[static_cast<std::size_t>(r)]->wait();
      EXPECT_EQ(result.status, 1) << result.err;
      EXPECT_THAT(result.err, HasSubstr("rank " + std::to_string(stopped) +
                                        " has shown no sign of life for 2 s (cluster.timeout_secs)"));
    }
    // Woken, it finds that the others have gone.
    all[static_cast<std::size_t>(stopped)]->kill(SIGCONT);
    const ProcessResult woken = all[static_cast<std::size_t>(stopped)]->wait();
    EXPECT_EQ(woken.status, 1) << woken.err;
    EXPECT_THAT(woken.err, HasSubstr("rank "));
  }
}

// 62 batches with a pause of 0.1 s before each.
TEST_F(RankWaits, AnEvaluationThreeTimesAsLongAsTheTimeoutIsNoDeath) {
  const std::string path = endless("run", 20);
  write_file(path, contents(path) + "timeout_secs = 2\n[input.eval]\nplugin = \"numbers\"\ndelay_secs = 0.1\n" +
                       "examples = 992\nepochs = 1\n[eval]\nevery_steps = 15\n");
  const std::vector<ProcessResult> results = wait_for_all(start_all(path, 2));
  for (const ProcessResult& r : results) EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(results[0].err, HasSubstr("eval: step 15"));
  EXPECT_FALSE(weights_of("run", 20).empty());
}

TEST_F(RankWaits, USER_17_ARankThatDoesNotComeIsNamedWithHowLongItWasWaitedFor) {
  const std::vector<std::string> soon{"--set", "cluster.max_wait_secs=0.5"};
  const ProcessResult chief = start(endless("alone"), 0, 2, soon)->wait();
  EXPECT_EQ(chief.status, 1);
  EXPECT_THAT(chief.err, HasSubstr("rank 1 of 2 did not come (cluster.max_wait_secs = 0.5)"));
  const ProcessResult worker = start(endless("without_chief"), 1, 2, soon)->wait();
  EXPECT_EQ(worker.status, 1);
  EXPECT_THAT(worker.err, AllOf(HasSubstr("rank 0 of 2 did not begin a run in "),
                                HasSubstr(" within cluster.max_wait_secs = 0.5")));
}

// Hooks are the chief's, so only the chief finds that an option is wrong.
TEST_F(RankWaits, T_164_AWorkerEndsWithTheReasonOfAChiefThatRefuses) {
  const std::string path = endless("run", 20), right = contents(path);
  write_file(path, right + "[[hooks]]\nplugin = \"csv_logger\"\nnosuch = 1\n");
  const Process worker = start(path, 1, 2);
  ASSERT_TRUE(worker->wait_for("waits for rank 0"));
  const ProcessResult chief = start(path, 0, 2)->wait();
  EXPECT_EQ(chief.status, 2) << chief.err;
  const ProcessResult told = worker->wait();
  EXPECT_EQ(told.status, 1) << told.err;
  EXPECT_THAT(told.err, AllOf(HasSubstr("rank 0 does not train: "), HasSubstr("csv_logger")));
  // The next start is not refused by what the last one left.
  write_file(path, right);
  const Process begins = start(path, 0, 2);
  ASSERT_TRUE(begins->wait_for("waits for the other ranks"));
  EXPECT_EQ(start(path, 1, 2)->wait().status, 0);
  EXPECT_EQ(begins->wait().status, 0);
  EXPECT_THAT(listing(run_dir()), Not(::testing::Contains("rendezvous-refused")));
}

TEST_F(RankWaits, ATimeOfNothingIsRefusedAtItsPlace) {
  const std::string path = endless("run");
  write_file(path, contents(path) + "timeout_secs = 0\nmax_wait_secs = -1\n");
  const ProcessResult result = belay({"check", path});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("cluster.timeout_secs must be greater than 0"),
                                HasSubstr("cluster.max_wait_secs must be greater than 0")));
}

}  // namespace
}  // namespace belay::runtime::testing
