// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/best_checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <optional>

#include "runtime/checkpoint/directory/checkpoint_series.h"
#include "runtime/checkpoint/directory/leftovers.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "runtime/checkpoint/read/run_state.h"
#include "tests/checkpoint/run_directory_fixture.h"

namespace belay::runtime {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

std::vector<std::int64_t> steps_of(const BestList& list) {
  std::vector<std::int64_t> steps;
  for (const BestCheckpoint& c : list.checkpoints) steps.push_back(c.step);
  return steps;
}

BestList list_of(const std::vector<double>& values, const BestRule& rule) {
  BestList list{rule.metric, rule.better};
  std::int64_t step = 0;
  for (const double value : values) list = with_checkpoint(std::move(list), {step += 10, value}, rule);
  return list;
}

TEST(BestList, IsOrderedAndNoLongerThanItsRule) {
  const BestRule smaller{3, "eval/loss", Better::kSmaller}, larger{3, "eval/accuracy", Better::kLarger};
  EXPECT_THAT(steps_of(list_of({.5, .4, .6, .3}, smaller)), ElementsAre(40, 20, 10));
  EXPECT_THAT(steps_of(list_of({.5, .4, .6, .3}, larger)), ElementsAre(30, 10, 20));
  EXPECT_THAT(steps_of(list_of({.5, .4}, {1, "eval/loss", Better::kSmaller})), ElementsAre(20));
}

TEST(BestList, OfEqualValuesTheEarlierOneIsTheBetter) {
  EXPECT_THAT(steps_of(list_of({.5, .5, .5}, {2, "eval/loss", Better::kSmaller})), ElementsAre(10, 20));
  EXPECT_THAT(steps_of(list_of({.5, .5, .6, .6}, {3, "eval/auc", Better::kLarger})), ElementsAre(30, 40, 10));
}

TEST(BestList, WhatIsNotFiniteIsNeverBest) {
  for (const Better better : {Better::kSmaller, Better::kLarger})
    EXPECT_THAT(steps_of(list_of({kNan, kInf, -kInf, .5, kNan}, {3, "eval/loss", better})), ElementsAre(40));
}

TEST(BestList, AStepIsInItOnceWithItsLastValue) {
  const BestRule rule{3, "eval/loss", Better::kSmaller};
  const BestList list = list_of({.5, .4}, rule);
  EXPECT_EQ(with_checkpoint(list, {10, .5}, rule), list);
  const BestList equal = list_of({.5, .5, .5}, rule);
  EXPECT_EQ(with_checkpoint(equal, {10, .5}, rule), equal);
  EXPECT_THAT(steps_of(with_checkpoint(list, {10, .3}, rule)), ElementsAre(10, 20));
  EXPECT_THAT(steps_of(with_checkpoint(list, {10, kNan}, rule)), ElementsAre(20));
  EXPECT_THAT(steps_of(without_step(list, 20)), ElementsAre(10));
}

TEST(BestList, ComesBackAsItWas) {
  const BestRule rule{3, "eval_hard/top \"5\"", Better::kLarger};
  const BestList list = list_of({.1, 1.0 / 3, 3}, rule);
  EXPECT_EQ(parse_best_list(format_best_list(list)), list);
  EXPECT_EQ(parse_best_list(format_best_list({"eval/loss"})), BestList{"eval/loss"});
  EXPECT_EQ(format_best_list(list_of({.5, .25}, {3, "eval/loss", Better::kSmaller})),
            "{\n \"metric\": \"eval/loss\", \"mode\": \"min\",\n \"checkpoints\": [\n"
            "  {\"step\":20,\"value\":0.25,\"path\":\"model.ckpt-20\"},\n"
            "  {\"step\":10,\"value\":0.5,\"path\":\"model.ckpt-10\"}\n ]\n}");
}

TEST(BestList, EachDamageHasItsMessage) {
  const auto with = [](const std::string& entries) {
    return R"({"metric": "eval/loss", "mode": "min", "checkpoints": [)" + entries + "]}";
  };
  const std::string one = R"({"step": 10, "value": 0.5, "path": "model.ckpt-10"})";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"metric": "eval/loss", "mode": "least", "checkpoints": []})", "best.mode is no metric with min or max"},
      {with(R"({"step": 10, "value": "0.5", "path": "model.ckpt-10"})"), "best.checkpoints[0].value is no number"},
      {with(R"({"step": 10, "value": 0.5, "path": "../model.ckpt-10"})"),
       "best.checkpoints[0].path is \"../model.ckpt-10\", which is not the checkpoint of step 10"},
      {with(one + "," + one), "best.checkpoints[1] has the step of another one"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_EQ(error_of([&, t = text] { parse_best_list(t, "best"); }), "DATA_LOSS: [B4016] " + message);
  EXPECT_THAT(error_of([] { parse_best_list("{\"metric\": "); }), HasSubstr("DATA_LOSS: "));
}

TEST(BestList, IsInAStateThatHasOneAndInNoOther) {
  RunState state;
  EXPECT_EQ(format_run_state(state).find("best"), std::string::npos);
  EXPECT_EQ(parse_run_state(format_run_state(state)).best, BestList());
  state.best = list_of({.5, .25}, {3, "eval/loss", Better::kSmaller});
  EXPECT_EQ(parse_run_state(format_run_state(state)).best, state.best);
}

// ---- in a run directory ----

// A run that evaluates each step that it saves.
class BestCheckpoints : public RunDirectoryTest {
 protected:
  BestCheckpoints() { begin(); }
  // A new process over the same directory continues from its current checkpoint.
  void begin(std::int64_t keep = 2, std::int64_t max_to_keep = 1, const std::string& metric = "eval/loss") {
    log_.lines.clear();
    remove_leftovers(*run_, log_);
    CheckpointSettings settings{.max_to_keep = max_to_keep, .keep_best = keep, .best_metric = metric};
    if (!better_by_name(metric)) settings.best_mode = BestMode::kMin;
    series_.emplace(files_, *run_, clock_, log_, settings);
    series_->recover();
    if (const auto newest = find_restorable(*run_, log_)) series_->restored(newest->name(), newest->state().best);
  }
  void save(std::int64_t step, std::optional<double> value = {}) {
    StepContent content(step);
    content.content().best = series_->best_with(step, value);
    series_->save(content.content(), saver_.use());
    series_->retain();
  }
  std::vector<std::int64_t> on_disk() const {
    std::vector<std::int64_t> steps;
    for (const std::string& name : run_->entries())
      if (const auto step = step_of_checkpoint(name)) steps.push_back(*step);
    std::sort(steps.begin(), steps.end());
    return steps;
  }
  // By the file, by the current checkpoint's state and in memory, which must agree.
  std::vector<std::int64_t> best() {
    const std::optional<BestList> file = read_best_list(*run_);
    if (!file) return {};
    EXPECT_EQ(*file, series_->best());
    EXPECT_EQ(*file, find_restorable(*run_, log_)->state().best);
    return steps_of(*file);
  }
  void spoil(std::int64_t step) { write_file(dir_ / checkpoint_name(step) + "/model.safetensors", "?"); }

  std::optional<CheckpointSeries> series_;
};

TEST_F(BestCheckpoints, AreKeptBesidesTheNewestOnes) {
  save(10, .5), save(20, .3), save(30, .4), save(40, .6);
  EXPECT_THAT(best(), ElementsAre(20, 30));
  EXPECT_THAT(on_disk(), ElementsAre(20, 30, 40));
  save(50), save(60);  // of no evaluation
  EXPECT_THAT(on_disk(), ElementsAre(20, 30, 60));
  save(70, .1);
  EXPECT_THAT(best(), ElementsAre(70, 20));
  EXPECT_THAT(on_disk(), ElementsAre(20, 70));
}

TEST_F(BestCheckpoints, AResumedRunKeepsTheList) {
  save(10, .5), save(20, .3), save(30, .4), save(40, .6);
  begin();
  EXPECT_THAT(best(), ElementsAre(20, 30));
  save(50, .35);
  EXPECT_THAT(best(), ElementsAre(20, 50));
  EXPECT_THAT(on_disk(), ElementsAre(20, 50));
}

TEST_F(BestCheckpoints, ALowerNumberShrinksTheListAndRemovesBehindTheNextSave) {
  save(10, .1), save(20, .2), save(30, .9);
  begin(1);
  EXPECT_THAT(steps_of(series_->best()), ElementsAre(10));
  EXPECT_THAT(on_disk(), ElementsAre(10, 20, 30));
  save(40);
  EXPECT_THAT(best(), ElementsAre(10));
  EXPECT_THAT(on_disk(), ElementsAre(10, 40));
  begin(0);
  save(50);
  EXPECT_THAT(on_disk(), ElementsAre(50));
  EXPECT_FALSE(run_->exists("best"));
}

TEST_F(BestCheckpoints, AHandThatGoesBackGetsTheListOfThatMoment) {
  begin(2, 5);
  save(10, .5), save(20, .4), save(30, .1);
  write_file(dir_ / "checkpoint", "model_checkpoint_path: \"model.ckpt-20\"");
  begin(2, 5);
  EXPECT_THAT(best(), ElementsAre(20, 10));
}

TEST_F(BestCheckpoints, OneThatIsGoneIsNamedWhenARunStarts) {
  save(10, .1), save(20, .2), save(30, .9);
  std::filesystem::remove_all(dir_ / "model.ckpt-10");
  begin();
  EXPECT_THAT(log_.lines,
              Contains("warning checkpoint: model.ckpt-10 is among the best checkpoints but no longer there"));
  EXPECT_THAT(steps_of(series_->best()), ElementsAre(20));
}

TEST_F(BestCheckpoints, OfAnotherMetricTheListBeginsAnew) {
  save(10, .1), save(20, .2), save(30, .9);
  begin(2, 1, "eval/accuracy");
  EXPECT_THAT(log_.lines,
              Contains("warning checkpoint: the best checkpoints so far are those by eval/loss; the list by "
                       "eval/accuracy begins anew"));
  save(40, .7);
  EXPECT_THAT(best(), ElementsAre(40));
  EXPECT_THAT(on_disk(), ElementsAre(40));
}

TEST_F(BestCheckpoints, AStateFileThatIsLostLeavesThemInRetention) {
  save(10, .1), save(20, .2), save(30, .9);
  std::filesystem::remove(dir_ / "checkpoint");
  begin();
  save(40, .05);
  EXPECT_THAT(best(), ElementsAre(40, 10));
  EXPECT_THAT(on_disk(), ElementsAre(10, 40));
}

TEST_F(BestCheckpoints, AStepThatIsSavedAgainAsSomethingElseIsNoLongerBest) {
  save(10, .1), save(20, .2);
  save(20);
  EXPECT_THAT(best(), ElementsAre(10));
}

// Nothing that comes after a call is done: the process was killed there.
TEST_F(BestCheckpoints, AKillAtEveryCallOfASaveLeavesAListThatIsTrue) {
  save(10, .5), save(20, .3);
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE("call " + std::to_string(nth));
    const TempDir copy;
    std::filesystem::copy(dir_.path(), copy.path(), std::filesystem::copy_options::recursive);
    FaultyFileSystem files(posix_file_system());
    const auto run = files.open_directory(copy.path());
    const CheckpointSettings options{.max_to_keep = 1, .keep_best = 2};
    const auto go_on = [&](CheckpointSeries& series) {
      series.recover();
      const auto newest = find_restorable(*run, log_);
      series.restored(newest->name(), newest->state().best);
      return newest->state().global_step;
    };
    CheckpointSeries series(files, *run, clock_, log_, options);
    go_on(series);
    files.forget_calls();
    files.fail_any(nth, Error(Code::kDataLoss, "Input/output error"), HowOften::kForEver);
    StepContent content(30);
    content.content().best = series.best_with(30, .2);
    error_of([&] {
      series.save(content.content(), saver_.use());
      series.retain();
    });
    const bool done = std::ssize(files.calls()) < nth;
    files.heal();
    // Before the next start: each one that the file names is whole.
    for (const BestCheckpoint& best : best_checkpoints(*run)) {
      const std::string name = checkpoint_name(best.step);
      const auto reader = CheckpointReader::open(run->open_directory(name));
      EXPECT_EQ(StepContent(best.step).difference(*reader, saver_.use()), "");
    }
    // And the next start has the list of the checkpoint from which it continues.
    remove_leftovers(*run, log_);
    CheckpointSeries next(files, *run, clock_, log_, options);
    const std::int64_t restored = go_on(next);
    EXPECT_THAT(steps_of(next.best()),
                restored == 30 ? (std::vector<std::int64_t>{30, 20}) : (std::vector<std::int64_t>{20, 10}));
    EXPECT_EQ(read_best_list(*run), next.best());
    if (done) {
      EXPECT_EQ(restored, 30);
      break;
    }
  }
}

TEST_F(BestCheckpoints, AFullDiskAtTheStartKeepsNobodyFromStarting) {
  save(10, .5);
  std::filesystem::remove(dir_ / "best");
  files_.fail(FileCall::kCreate, 1, Error(Code::kResourceExhausted, "No space left on device"), HowOften::kForEver);
  begin();
  files_.heal();
  EXPECT_THAT(log_.lines, Contains(HasSubstr("cannot write the list of the best checkpoints of '")));
  save(20, .4);
  EXPECT_THAT(best(), ElementsAre(20, 10));
}

// ---- read by others ----

TEST_F(BestCheckpoints, TheBestThatIsWholeIsFound) {
  save(10, .5), save(20, .3), save(30, .9);
  EXPECT_EQ(find_best(*run_, log_)->state().global_step, 20);
  EXPECT_THAT(best_checkpoints(*run_), ElementsAre(BestCheckpoint{20, .3}, BestCheckpoint{10, .5}));
  spoil(20);
  log_.lines.clear();
  EXPECT_EQ(find_best(*run_, log_)->state().global_step, 10);
  EXPECT_THAT(log_.lines, ElementsAre(AllOf(HasSubstr("one of the best checkpoints is damaged and stays where it is: "),
                                            HasSubstr("model.ckpt-20"))));
  std::filesystem::remove_all(dir_ / "model.ckpt-10");
  EXPECT_THAT(error_of([&] { find_best(*run_, log_); }),
              AllOf(HasSubstr("DATA_LOSS: [B4034] none of the best checkpoints of "), HasSubstr("model.ckpt-20"),
                    HasSubstr("model.ckpt-10': it is missing")));
}

TEST_F(BestCheckpoints, WithoutAListTheFixIsSaid) {
  EXPECT_EQ(error_of([&] { find_best(*run_, log_); }),
            "NOT_FOUND: [B4017] '" + dir_.path() +
                "' has no best checkpoint: eval/loss was not evaluated, was not finite, or a hook has put "
                "other weights into the place of those that were");
  EXPECT_THAT(best_checkpoints(*run_), IsEmpty());
  std::filesystem::remove(dir_ / "best");
  EXPECT_EQ(error_of([&] { find_best(*run_, log_); }),
            "NOT_FOUND: [B4017] '" + dir_.path() + "' has no list of its best checkpoints: set [checkpoint] keep_best");
  EXPECT_THAT(best_checkpoints(*run_), IsEmpty());
  write_file(dir_ / "best", "half a li");
  EXPECT_THAT(error_of([&] { best_checkpoints(*run_); }),
              AllOf(HasSubstr("DATA_LOSS: [B4016] '" + dir_.path() +
                              "/best', the list of the best checkpoints, cannot be used"),
                    HasSubstr("the run writes it again when it starts")));
}

TEST_F(BestCheckpoints, TheFilesPathNamesTheBestCheckpoint) {
  save(10, .5), save(20, .3), save(30, .9);
  const auto best = open_stored_tensors(files_, dir_ / "best", saver_.use(), log_);
  EXPECT_EQ(best->path(), dir_ / "model.ckpt-20");
}

}  // namespace
}  // namespace belay::runtime
