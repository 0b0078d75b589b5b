// SPDX-License-Identifier: Apache-2.0
// kill -9 at random moments of a run, most of them while it saves.
#include "tests/e2e/killed_run_fixture.h"

namespace belay::runtime::testing {
namespace {

class KilledRun : public KilledRunTest, public ::testing::WithParamInterface<const char*> {};

// F1
TEST_P(KilledRun, FiftyTimesGoesOnFromAWholeCheckpointEachTime) {
  // It prints how many kills met a save. The long suite asks for 300 of 1,000.
  kill_while_saving(GetParam(), 50);
}

TEST_P(KilledRun, TwentyTimesEndsWithTheBitsOfOneThatWasNot) {
  const Arguments args = hard_to_resume("run", GetParam());
  const double secs = seconds_of([&] { ASSERT_EQ(belay(args).status, 0); });
  const std::string whole = weights(run_dir(), 60);
  ASSERT_FALSE(whole.empty());
  std::filesystem::remove_all(run_dir());
  EXPECT_TRUE(killed(args, run_dir(), 60, 20, secs) == whole);
}

INSTANTIATE_TEST_SUITE_P(Each, KilledRun, ::testing::Values("sync", "async"),
                         [](const auto& save) { return save.param; });

}  // namespace
}  // namespace belay::runtime::testing
