// SPDX-License-Identifier: Apache-2.0
// A run never continues from a checkpoint of another training without a message.
#include <filesystem>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kNotWith = " (not with other features, columns or classes than the training's)";

class ChangedManifest : public RunTest {
 protected:
  // 12 rows, from a file; `set` overrides keys.
  ProcessResult train(std::vector<std::string> args = {}, const std::string& hooks = "", int max_steps = 5) {
    if (!std::filesystem::exists(temp / "rows.csv")) write_rows("1");
    write_file(temp / "train.toml", "[run]\ndir = \"run\"\nmax_steps = " + std::to_string(max_steps) +
                                        "\nthreads = 1\n[input.train]\nplugin = \"csv\"\npath = \"rows.csv\"\n"
                                        "label = \"y\"\nlabel_type = \"float\"\nbatch_size = 4\n[model]\n"
                                        "plugin = \"linear\"\n[optimizer]\nname = \"sgd\"\nlearning_rate = 0.01\n" +
                                        hooks);
    args.insert(args.begin(), {"run", temp / "train.toml"});
    return belay(args);
  }
  void write_rows(const std::string& last) const {
    std::string rows = "x,y\n";
    for (int i = 0; i < 11; ++i) rows += std::to_string(i % 7) + "," + std::to_string(i % 5) + "\n";
    write_file(temp / "rows.csv", rows + "3," + last + "\n");
  }
  // The second of two starts is refused with this, and changes nothing.
  void expect_refused(const ProcessResult& r, const std::string& message) {
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_THAT(told(r), HasSubstr(message));
    const bool of_data = message.find("input.train.") != message.npos;
    EXPECT_THAT(told(r), HasSubstr("  help: undo it, or accept it by --resume=changed" +
                                   std::string(of_data ? kNotWith : "") + ", or begin anew by --from-scratch\n"));
    EXPECT_THAT(listing(run_dir()), Not(Contains("manifest-0003.toml")));
    EXPECT_EQ(contents(run_dir() + "/manifest.toml").find("max_steps = 9"), std::string::npos);
    EXPECT_THAT(listing(run_dir()), Not(Contains("model.ckpt-9")));
  }
};

TEST_F(ChangedManifest, AnotherLearningRateIsRefusedAtItsLine) {
  ASSERT_EQ(train().status, 0);
  expect_refused(train({"--set", "optimizer.learning_rate=0.5"}, "", 9),
                 "--set optimizer.learning_rate: error[B5021]: optimizer.learning_rate was 0.01, is 0.5: another "
                 "training than that of model.ckpt-5\n");
}

TEST_F(ChangedManifest, AnotherBatchSizeIsRefusedAtItsLine) {
  ASSERT_EQ(train().status, 0);
  expect_refused(train({"--set", "input.train.batch_size=3"}, "", 9),
                 "error[B5021]: input.train.batch_size was 4, is 3: another training than that of model.ckpt-5\n");
}

TEST_F(ChangedManifest, AllThatChangedIsReportedAtOnce) {
  ASSERT_EQ(train().status, 0);
  const ProcessResult r = train({"--set", "run.seed=7", "--set", "model.use_bias=false"}, "", 9);
  expect_refused(r, "run.seed was 42, is 7");
  EXPECT_THAT(told(r), HasSubstr("model.use_bias was true, is false"));
}

TEST_F(ChangedManifest, IsGoneOnWithWhenAskedFor) {
  ASSERT_EQ(train().status, 0);
  const ProcessResult changed = train({"--set", "optimizer.learning_rate=0.5", "--resume=changed"}, "", 9);
  EXPECT_EQ(changed.status, 0) << changed.err;
  EXPECT_THAT(told(changed), HasSubstr("warning --resume=changed: optimizer.learning_rate was 0.01, is 0.5"));
  // The next start is compared with what the newest checkpoint was trained with.
  const ProcessResult again = train({"--set", "optimizer.learning_rate=0.5"}, "", 12);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(told(again), Not(HasSubstr("learning_rate was")));
  EXPECT_THAT(contents(run_dir() + "/manifest-0001.toml"), HasSubstr("learning_rate = 0.01\n"));
  EXPECT_THAT(contents(run_dir() + "/model.ckpt-9/manifest.toml"), HasSubstr("learning_rate = 0.5\n"));
  EXPECT_THAT(contents(run_dir() + "/manifest-0001.toml"), HasSubstr("max_steps = 5\n"));
  EXPECT_THAT(contents(run_dir() + "/manifest-0002.toml"), HasSubstr("max_steps = 9\n"));
}

TEST_F(ChangedManifest, WhatChangesNoNumberIsALine) {
  ASSERT_EQ(train().status, 0);
  const ProcessResult r = train({"--set", "checkpoint.max_to_keep=3"},
                                "[[hooks]]\nplugin = \"logging_tensor\"\ntensors = [\"loss\"]\nevery_n_iter = 2\n", 9);
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(told(r), HasSubstr("info changed since model.ckpt-5 was saved: checkpoint.max_to_keep was 5, is 3; "
                                 "hooks.logging_tensor was not there, is there; run.max_steps was 5, is 9\n"));
}

TEST_F(ChangedManifest, T_130_OfWhatAPredictionIsAskedForATrainingSaysNothing) {
  const auto run = [&](const std::string& epochs, int max_steps) {
    const std::string predict = "[input.predict]\nplugin = \"numbers\"\nexamples = 64\nepochs = " + epochs + "\n";
    return belay({"run", regression("", predict, max_steps)});
  };
  ASSERT_EQ(run("1", 5).status, 0);
  const ProcessResult again = run("2", 9);
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(told(again), HasSubstr("info changed since model.ckpt-5 was saved: run.max_steps was 5, is 9\n"));
}

TEST_F(ChangedManifest, AHookThatMayChangeNumbersCountsWhenItComesAndGoes) {
  ASSERT_EQ(train().status, 0);
  const std::string hook = "[[hooks]]\nplugin = \"reduce_lr_on_plateau\"\n";
  expect_refused(train({}, hook, 9), "hooks.reduce_lr_on_plateau was not there, is there: another training");
  ASSERT_EQ(train({"--resume=changed"}, hook, 9).status, 0);
  EXPECT_EQ(train({}, "", 12).status, 2);
}

// The split of an evaluation chooses other rows of a file that has one more, and some of them were trained on.
TEST_F(ChangedManifest, AnEvaluationOfAPartNamesAFileThatChanged) {
  const auto run = [&](const std::string& command, const std::string& by) {
    const std::string files = "plugin = \"csv\"\npath = \"rows.csv\"\nlabel_type = \"float\"\nbatch_size = 4\n" + by;
    write_file(temp / "parts.toml", "[run]\ndir = \"runs/one\"\nmax_steps = 5\n[input.train]\n" + files +
                                        "split = \"train\"\n[input.eval]\n" + files +
                                        "split = \"eval\"\nepochs = 1\n[model]\nplugin = \"linear\"\n[optimizer]\nname "
                                        "= \"sgd\"\nlearning_rate = 0.01\n");
    return belay({command, temp / "parts.toml"});
  };
  const std::string warning = "since model.ckpt-5 was saved, so the split chooses other rows";
  write_rows("1");
  ASSERT_EQ(run("run", "").status, 0);
  EXPECT_THAT(told(run("evaluate", "")), Not(HasSubstr(warning)));
  write_rows("100");
  const ProcessResult changed = run("evaluate", "");
  EXPECT_EQ(changed.status, 0) << changed.err;
  EXPECT_THAT(told(changed), HasSubstr("warning input.eval.path: "));
  EXPECT_THAT(told(changed), HasSubstr(warning));
  EXPECT_THAT(told(run("evaluate", "split_by = \"groups\"\nsplit_column = \"x\"\n")), Not(HasSubstr(warning)))
      << "a group stays in its part";
}

TEST_F(ChangedManifest, WritingADefaultOutIsNoChange) {
  ASSERT_EQ(train().status, 0);
  const ProcessResult r = train({"--set", "model.use_bias=true", "--set", "run.seed=42"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(told(r), Not(HasSubstr("changed since")));
}

TEST_F(ChangedManifest, OtherDataIsRefusedAndATouchedFileIsALine) {
  ASSERT_EQ(train().status, 0);
  const auto written = std::filesystem::last_write_time(temp / "rows.csv");
  std::filesystem::last_write_time(temp / "rows.csv", written + std::chrono::seconds(5));
  const ProcessResult touched = train({}, "", 6);
  EXPECT_EQ(touched.status, 0) << touched.err;
  EXPECT_THAT(told(touched), HasSubstr("input.train.path: DIR/rows.csv was written again; its size, beginning and end "
                                       "are the same, since model.ckpt-5 was saved (--exact compares all of it)\n"));
  write_rows("2");
  expect_refused(train({"--set", "run.seed=42"}, "", 9),
                 "input.train.path: DIR/rows.csv has other bytes than it had, since model.ckpt-6 was saved\n");
}

// The help of the first refusal leads to no second one that it has not named.
TEST_F(ChangedManifest, OtherColumnsAreRefusedAlsoIfTheyAreAskedFor) {
  ASSERT_EQ(train().status, 0);
  std::string rows = contents(temp / "rows.csv");
  write_file(temp / "rows.csv", rows.replace(0, 1, "z"));
  expect_refused(train({}, "", 9), "input.train.path: DIR/rows.csv has other bytes than it had");
  const ProcessResult asked = train({"--resume=changed"}, "", 9);
  EXPECT_EQ(asked.status, 2) << asked.err;
  EXPECT_THAT(told(asked),
              HasSubstr("error[B5026]: this training continues one, and needs its features, columns and classes, also "
                        "with --resume=changed\n"));
}

TEST_F(ChangedManifest, AFileOfTheModelCountsAsDataDoes) {
  write_file(temp / "factor.txt", "2\n");
  const std::vector<std::string> scaled = {"--set", "model.plugin=scaled", "--set",
                                           "model.factor=" + (temp / "factor.txt")};
  ASSERT_EQ(train(scaled).status, 0);
  write_file(temp / "factor.txt", "3\n");
  expect_refused(train(scaled, "", 9),
                 "model.factor: DIR/factor.txt has other bytes than it had, since model.ckpt-5 was saved\n");
}

TEST_F(ChangedManifest, CheckAndDryRunFindItToo) {
  ASSERT_EQ(train().status, 0);
  const ProcessResult dry = train({"--dry-run", "--set", "run.seed=7"});
  EXPECT_EQ(dry.status, 2);
  const ProcessResult check = belay({"check", temp / "train.toml", "--set", "run.seed=7"});
  EXPECT_EQ(check.status, 2);
  EXPECT_THAT(told(check), HasSubstr("run.seed was 42, is 7"));
}

TEST_F(ChangedManifest, ResumeMustNeedsACheckpoint) {
  const ProcessResult r = train({"--resume=must"});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(told(r), HasSubstr("--resume=must, and 'DIR/run' holds no checkpoint\n"));
  EXPECT_FALSE(std::filesystem::exists(run_dir()));
  ASSERT_EQ(train().status, 0);
  EXPECT_EQ(train({"--resume=must"}, "", 9).status, 0);
}

TEST_F(ChangedManifest, ExactRefusesAnotherNumberOfThreads) {
  ASSERT_EQ(train().status, 0);
  const ProcessResult r = train({"--exact", "--set", "run.threads=2"}, "", 9);
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(told(r), HasSubstr("--exact: since model.ckpt-5 was saved threads was 1, is 2\n"));
  EXPECT_EQ(train({"--exact"}, "", 9).status, 0);
}

TEST_F(ChangedManifest, AnUnknownWayToResumeIsAUsageError) {
  const ProcessResult r = train({"--resume=always"});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("--resume is \"always\", must be changed or must"));
  EXPECT_THAT(train({"--resume=must", "--from-scratch"}).err, HasSubstr("contradict each other"));
}

}  // namespace
}  // namespace belay::runtime::testing
