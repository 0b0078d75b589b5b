// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/repeated_runs.h"

#include <gmock/gmock.h>

#include <cmath>

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

RunRecord run_of(const std::string& rate, const std::string& fold, const std::string& seed, double accuracy) {
  RunRecord run;
  run.path = "runs/" + rate + fold + seed;
  run.manifest = {{"run", "dir", run.path},
                  {"run", "seed", seed},
                  {"input.train", "fold", fold},
                  {"optimizer", "learning_rate", rate}};
  run.curves = {{"eval", "accuracy", {{10, accuracy - 0.25}, {20, accuracy}}}};
  return run;
}

std::vector<RepeatedRuns> repeated(const std::vector<RunRecord>& runs) {
  return repeated_runs(runs, compare_metrics(runs, is_metric));
}

TEST(RepeatedRuns, RunsThatDifferInSeedsAndFoldsAloneAreAGroup) {
  const auto groups = repeated({run_of("0.1", "0", "1", 0.5), run_of("0.2", "0", "1", 0.25),
                                run_of("0.1", "1", "1", 0.75), run_of("0.1", "0", "2", 1)});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_THAT(groups[0].runs, ElementsAre(0, 2, 3));
  EXPECT_THAT(groups[0].keys, ElementsAre("run.seed", "input.train.fold"));
  ASSERT_EQ(groups[0].metrics.size(), 1u);
  EXPECT_EQ(groups[0].metrics[0].name, "eval/accuracy");
  ASSERT_TRUE(groups[0].metrics[0].last);
  EXPECT_EQ(groups[0].metrics[0].last->runs, 3u);
  EXPECT_DOUBLE_EQ(groups[0].metrics[0].last->mean, 0.75);
  EXPECT_DOUBLE_EQ(groups[0].metrics[0].last->deviation, 0.25);
  EXPECT_DOUBLE_EQ(groups[0].metrics[0].best->mean, 0.75);
}

TEST(RepeatedRuns, RunsWithOtherSettingsOrTheSameOnesAreNone) {
  EXPECT_THAT(repeated({run_of("0.1", "0", "1", 0.5), run_of("0.2", "1", "1", 0.5)}), IsEmpty());
  EXPECT_THAT(repeated({run_of("0.1", "0", "1", 0.5), run_of("0.1", "0", "1", 0.5)}), IsEmpty());
}

TEST(RepeatedRuns, ALastValueThatIsNotFiniteDoesNotCount) {
  RunRecord diverged = run_of("0.1", "2", "1", 0.5);
  diverged.curves[0].points.back().value = std::nan("");
  const auto groups = repeated({run_of("0.1", "0", "1", 0.5), run_of("0.1", "1", "1", 1), diverged});
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].runs.size(), 3u);
  EXPECT_EQ(groups[0].metrics[0].last->runs, 2u);
  EXPECT_DOUBLE_EQ(groups[0].metrics[0].last->mean, 0.75);
  EXPECT_EQ(groups[0].metrics[0].best->runs, 3u);
}

TEST(RepeatedRuns, OneValueHasNoSpread) {
  EXPECT_FALSE(spread_of({1}));
  EXPECT_DOUBLE_EQ(spread_of({1, 3})->deviation, std::sqrt(2));
}

}  // namespace
}  // namespace belay::runtime
