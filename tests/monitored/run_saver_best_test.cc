// SPDX-License-Identifier: Apache-2.0
// [checkpoint] keep_best: evaluations that are noted, and what is saved for them.
#include <gmock/gmock.h>

#include <limits>
#include <memory>
#include <vector>

#include "tests/monitored/run_saver_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class BestSavers : public Savers {
 protected:
  std::shared_ptr<RunSaver> best_saver(std::int64_t keep = 2) {
    RunSaverOptions options;
    options.checkpoint.max_to_keep = 1;
    options.checkpoint.keep_best = keep;
    return make_saver(std::move(options));
  }
  // As the host does after an evaluation: at the boundary of that step.
  void evaluate(RunSaver& saver, std::int64_t step, double value) {
    set(static_cast<float>(step), step);
    saver.note_evaluation(step, value);
    saver.at_boundary(*session, hooks);
  }
  std::vector<std::int64_t> best() {
    std::vector<std::int64_t> steps;
    for (const BestCheckpoint& c : best_checkpoints(run.directory())) steps.push_back(c.step);
    return steps;
  }
};

TEST_F(BestSavers, ASaveFollowsAnEvaluationThatIsAmongTheBestAndNoOther) {
  const auto saver = best_saver();
  evaluate(*saver, 10, .5);
  evaluate(*saver, 20, .4);
  evaluate(*saver, 30, .6);
  evaluate(*saver, 40, std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-10", "model.ckpt-20"));
  evaluate(*saver, 50, .45);
  EXPECT_THAT(best(), ElementsAre(20, 50));
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-20", "model.ckpt-50"));
  EXPECT_TRUE(logged("model.ckpt-20 is the best checkpoint so far: eval/loss = 0.4"));
  EXPECT_TRUE(logged("model.ckpt-50 is number 2 of the best checkpoints: eval/loss = 0.45"));
  saver->restore_exactly(*session, run.path() + "/model.ckpt-20");
  EXPECT_EQ(weight_of(*session), 20);  // what was evaluated
}

TEST_F(BestSavers, WithoutKeepBestAnEvaluationSavesNothing) {
  const auto saver = make_saver();
  evaluate(*saver, 10, .5);
  EXPECT_THAT(checkpoints(), IsEmpty());
  EXPECT_FALSE(run.directory().exists("best"));
}

TEST_F(BestSavers, AResumedRunKeepsTheListAndItsFirstSaveOfTheSameStateChangesNothing) {
  {
    const auto saver = best_saver();
    evaluate(*saver, 10, .5);
    evaluate(*saver, 20, .4);
  }
  const auto saver = best_saver();
  session = open_session();
  saver->restore_latest(*session, run.path());
  saver->request();
  saver->at_boundary(*session, hooks);
  EXPECT_THAT(best(), ElementsAre(20, 10));
  saver->note_evaluation(20, .4);  // made again: nothing new
  EXPECT_FALSE(saver->requested());
  evaluate(*saver, 30, .45);
  EXPECT_THAT(best(), ElementsAre(20, 30));
}

// No boundary follows any more: it is saved at once, and the save that a hook asks for after it writes nothing.
TEST_F(BestSavers, AnEvaluationWhileTheSessionEndsIsAmongTheBestOfTheLastCheckpoint) {
  const auto saver = best_saver();
  evaluate(*saver, 10, .5);
  set(20.0f, 20);
  saver->begin_end(*session, hooks);
  saver->note_evaluation(20, .4);
  EXPECT_THAT(best(), ElementsAre(20, 10));
  EXPECT_EQ(saver->saved_step(), 20);
  saver->save_requested_by_hook();
  saver->finish_end();
  EXPECT_THAT(best(), ElementsAre(20, 10));
}

// restore_best at the end, for one, when the last step was evaluated, too.
TEST_F(BestSavers, AStepThatIsSavedWithOtherWeightsThanWereEvaluatedIsNotAmongTheBest) {
  const auto saver = best_saver();
  evaluate(*saver, 10, .4);
  evaluate(*saver, 20, .5);
  EXPECT_THAT(best(), ElementsAre(10, 20));
  save(*saver, 10.0f, 20);
  EXPECT_THAT(best(), ElementsAre(10));
}

TEST_F(BestSavers, ASaveThatFailsOrIsRefusedLeavesTheList) {
  const auto saver = best_saver();
  evaluate(*saver, 10, .4);
  Probe& a = add_probe("a");
  a.in["before_save"] = [] { skip_checkpoint("not now"); };
  evaluate(*saver, 20, .3);
  EXPECT_THAT(best(), ElementsAre(10));
  EXPECT_FALSE(saver->requested());
  a.in.erase("before_save");
  save(*saver, 20.0f, 20);  // other weights, of no evaluation
  EXPECT_THAT(best(), ElementsAre(10));
  evaluate(*saver, 30, .2);
  EXPECT_THAT(best(), ElementsAre(30, 10));
}

TEST_F(BestSavers, TheServiceOpensTheBestByItsFile) {
  auto asking = std::make_unique<Asking>();
  Asking& hook = *asking;
  add_hook("asking", std::move(asking));
  const auto saver = best_saver();
  evaluate(*saver, 10, .4);
  evaluate(*saver, 20, .5);
  save(*saver, 30.0f, 30);
  EXPECT_EQ(TensorView(hook.open(run.path() + "/best").read("weight").view()).scalar<float>(), 10);
  EXPECT_EQ(TensorView(hook.open(run.path()).read("weight").view()).scalar<float>(), 30);
}

TEST(BestRules, AreThoseOfTheSettings) {
  CheckpointSettings settings;
  EXPECT_EQ(best_rule(settings).keep, 0);
  settings.keep_best = 3;
  EXPECT_EQ(best_rule(settings).better, Better::kSmaller);
  settings.best_metric = "eval/accuracy";
  EXPECT_EQ(best_rule(settings).better, Better::kLarger);
  settings.best_mode = BestMode::kMin;
  EXPECT_EQ(best_rule(settings).better, Better::kSmaller);
  settings.best_mode = BestMode::kAuto;
  settings.best_metric = "eval/agreement";
  EXPECT_EQ(error_of([&] { best_rule(settings); }),
            "INVALID_ARGUMENT: [B4015] 'eval/agreement' does not show by its name which values are better: set "
            "best_mode to min or max");
}

}  // namespace
}  // namespace belay::runtime::testing
