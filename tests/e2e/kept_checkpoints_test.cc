// SPDX-License-Identifier: Apache-2.0
// [checkpoint] of a run: which checkpoints stay, what they are called, and saves that fail.
#include <signal.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class KeptCheckpoints : public RunTest {
 protected:
  std::vector<std::string> checkpoints(const std::string& basename = "model.ckpt") const {
    std::vector<std::string> names;
    for (const std::string& name : listing(run_dir()))
      if (name.starts_with(basename + "-")) names.push_back(name.substr(basename.size() + 1));
    return names;
  }
  bool is_pinned(const std::string& name) const { return std::filesystem::exists(run_dir() + "/" + name + "/pinned"); }
  // Something that is no checkpoint has the name of step 6: until it is gone that step cannot be saved.
  std::string blocked(const std::string& more) {
    EXPECT_EQ(belay({"run", regression("", "", 5)}).status, 0);
    std::filesystem::create_directory(run_dir() + "/model.ckpt-6");
    return regression("", "[checkpoint]\nsave_steps = 1\n" + more, 10);
  }
};

TEST_F(KeptCheckpoints, OneEverySoManyStepsStaysOverARestart) {
  const std::string table = "[checkpoint]\nsave_steps = 4\nmax_to_keep = 1\nkeep_every_steps = 10\n";
  ASSERT_EQ(belay({"run", regression("", table, 18)}).status, 0);
  EXPECT_THAT(checkpoints(), ElementsAre("12", "18"));
  const ProcessResult r = belay({"run", regression("", table, 30)});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(checkpoints(), ElementsAre("12", "20", "30"));
  EXPECT_TRUE(is_pinned("model.ckpt-20"));
  const ProcessResult refused = belay({"checkpoint", "rm", run_dir() + "/model.ckpt-12"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("it is pinned"));
}

TEST_F(KeptCheckpoints, OneEverySoManyHoursStays) {
  const ProcessResult r =
      belay({"run", regression("", "[checkpoint]\nsave_steps = 1\nmax_to_keep = 1\nkeep_every_hours = 1e-9\n", 5)});
  ASSERT_EQ(r.status, 0) << r.err;
  // More than a few microseconds lie between two saves, so each is due.
  EXPECT_THAT(checkpoints(), ElementsAre("0", "1", "2", "3", "4", "5"));
  EXPECT_THAT(contents(run_dir() + "/checkpoint"), HasSubstr("last_preserved_timestamp: "));
  EXPECT_THAT(r.err, HasSubstr("model.ckpt-4 is pinned: it stays (keep_every_hours)"));
}

TEST_F(KeptCheckpoints, AnotherBasenameGoesThroughAllCommands) {
  const std::string more =
      "[input.eval]\nplugin = \"numbers\"\nexamples = 16\nepochs = 1\n"
      "[checkpoint]\nbasename = \"my-run\"\nsave_steps = 5\nkeep_best = 1\n";
  ASSERT_EQ(belay({"run", regression("", more, 10)}).status, 0);
  EXPECT_THAT(checkpoints("my-run"), ElementsAre("0", "10", "5"));
  EXPECT_THAT(checkpoints(), IsEmpty());
  EXPECT_THAT(contents(run_dir() + "/best"), HasSubstr("\"path\":\"my-run-10\""));

  const std::string manifest = regression("", more, 20);
  const ProcessResult resumed = belay({"run", manifest});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("restored step 10 from "));
  EXPECT_THAT(resumed.err, HasSubstr("last checkpoint " + run_dir() + "/my-run-20"));
  for (const std::string choice : {"latest", "best", "5"}) {
    const ProcessResult r = belay({"evaluate", manifest, "--checkpoint", choice});
    EXPECT_EQ(r.status, 0) << choice << r.err;
    EXPECT_THAT(r.err, HasSubstr("/my-run-")) << choice;
  }
  const ProcessResult list = belay({"checkpoint", "ls", run_dir()});
  EXPECT_EQ(list.status, 0) << list.err;
  EXPECT_THAT(list.out, HasSubstr("my-run-15"));
  for (const char* verb : {"verify", "show"}) EXPECT_EQ(belay({"checkpoint", verb, run_dir()}).status, 0) << verb;
  EXPECT_EQ(belay({"checkpoint", "pin", run_dir() + "/my-run-5"}).status, 0);
  EXPECT_TRUE(is_pinned("my-run-5"));
  EXPECT_EQ(belay({"checkpoint", "rm", run_dir() + "/my-run-0"}).status, 0);
  EXPECT_THAT(checkpoints("my-run"), Not(Contains("0")));
}

TEST_F(KeptCheckpoints, CheckpointsOfAnotherBasenameAreRefusedAtItsLine) {
  ASSERT_EQ(belay({"run", regression("", "", 5)}).status, 0);
  const std::string manifest = regression("", "[checkpoint]\nbasename = \"mnist\"\n", 10);
  for (const char* command : {"run", "check"}) {
    const ProcessResult r = belay({command, manifest});
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_THAT(told(r),
                HasSubstr("DIR/train.toml:14:12: error[B4014]: 'DIR/run' holds checkpoints called 'model.ckpt-STEP', "
                          "and this run's are called 'mnist-STEP'\n  basename = \"mnist\"\n"));
    EXPECT_THAT(told(r), HasSubstr("  help: continue them by [checkpoint] basename = \"model.ckpt\", or begin anew by "
                                   "--from-scratch\n"));
  }
  EXPECT_THAT(checkpoints(), ElementsAre("0", "5"));
  const ProcessResult anew = belay({"run", manifest, "--from-scratch"});
  EXPECT_EQ(anew.status, 0) << anew.err;
  EXPECT_THAT(checkpoints("mnist"), ElementsAre("0", "10"));
  // And a manifest that leaves it out.
  const ProcessResult back = belay({"run", regression("", "", 10)});
  EXPECT_EQ(back.status, 2) << back.err;
  EXPECT_THAT(told(back), HasSubstr("basename = \"mnist\""));
}

// Issue 33, point 6: an index had room for 44,000.
TEST_F(KeptCheckpoints, FortyFiveThousandVariablesAreSavedRestoredAndRead) {
  const auto run = [&](int steps) {
    return belay({"run", regression("", "", steps), "--set", "model.plugin=crowd", "--set", "model.variables=45000"});
  };
  const ProcessResult begun = run(2);
  ASSERT_EQ(begun.status, 0) << begun.err;
  EXPECT_THAT(begun.err, Not(HasSubstr("was not written")));
  EXPECT_THAT(checkpoints(), ElementsAre("0", "2"));
  const ProcessResult resumed = run(4);
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("restored step 2"));
  EXPECT_THAT(checkpoints(), ElementsAre("0", "2", "4"));
  const std::string first = run_dir() + "/model.ckpt-0", last = run_dir() + "/model.ckpt-4";
  EXPECT_EQ(belay({"checkpoint", "verify", run_dir()}).status, 0);
  EXPECT_THAT(belay({"checkpoint", "show", last}).out, HasSubstr("crowd/v44999"));
  EXPECT_THAT(belay({"checkpoint", "diff", first, last}).out, HasSubstr("weight"));
  const std::string converted = temp / "converted.safetensors";
  EXPECT_EQ(belay({"checkpoint", "convert", last, converted}).status, 0);
  EXPECT_THAT(belay({"checkpoint", "show", converted}).out, HasSubstr("crowd/v44999"));
}

// Issue 33, point 6: it trained on with an error at each save.
TEST_F(KeptCheckpoints, MoreVariablesThanACheckpointHoldsAreRefusedBeforeTheFirstStep) {
  const std::vector<std::string> sets = {regression("", "", 5),   "--set", "model.plugin=crowd", "--set",
                                         "model.variables=55000", "--set", "model.rank=64"};
  for (const char* command : {"check", "run"}) {
    std::vector<std::string> arguments = sets;
    arguments.insert(arguments.begin(), command);
    const ProcessResult r = belay(arguments);
    EXPECT_EQ(r.status, 2) << command << "\n" << r.err;
    EXPECT_THAT(r.err, HasSubstr("error[B4003]: the model has 5500")) << command;
    EXPECT_THAT(r.err, HasSubstr(" variables, more than a checkpoint holds: the index of 5500")) << command;
    EXPECT_THAT(r.err, HasSubstr(" values, at most 4000000 are read; make fewer and larger ones")) << command;
    EXPECT_THAT(checkpoints(), IsEmpty());
  }
}

TEST_F(KeptCheckpoints, ARunThatPausesGoesOnOnceItCanSave) {
  for (const char* mode : {"sync", "async"}) {
    std::filesystem::remove_all(run_dir());
    BelayProcess run(
        {"run", blocked("on_save_error = \"pause\"\nsave_failures = 1\nsave = \"" + std::string(mode) + "\"\n")});
    ASSERT_TRUE(run.wait_for("the training waits until a checkpoint can be written")) << run.wait().err;
    std::filesystem::remove(run_dir() + "/model.ckpt-6");
    // In the background steps were made before the failure was known, so that another one is saved.
    const ProcessResult r = run.wait();
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("the training continues"));
    EXPECT_THAT(checkpoints(), Contains("10"));
  }
}

// It waits longer than the watchdog would let it.
TEST_F(KeptCheckpoints, ASignalEndsARunThatPauses) {
  BelayProcess run({"run", blocked("on_save_error = \"pause\"\nsave_failures = 1\nsave = \"sync\"\n"
                                   "[session]\nno_progress_secs = 1.5\n")});
  ASSERT_TRUE(run.wait_for("failure 3 in a row, on_save_error = \"pause\" after 1")) << run.wait().err;
  run.kill(SIGTERM);
  const ProcessResult r = run.wait();
  EXPECT_NE(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the last checkpoint was not written: "));
  EXPECT_THAT(checkpoints(), Contains("5"));
}

TEST_F(KeptCheckpoints, StopEndsTheRunBehindSoManyFailures) {
  const std::string manifest = blocked("on_save_error = \"stop\"\nsave = \"sync\"\n");
  for (const int step : {7, 8}) std::filesystem::create_directory(run_dir() + "/model.ckpt-" + std::to_string(step));
  const ProcessResult r = belay({"run", manifest});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.err, HasSubstr("failure 2 in a row, on_save_error = \"stop\" after 3"));
  EXPECT_THAT(r.err, HasSubstr("/model.ckpt-8'"));
}

TEST_F(KeptCheckpoints, ARunThatEndsByAnErrorSavesWhereItIsTo) {
  const std::string input = "fail_at_batch = 7\nfail_with = \"data_loss\"\n";
  const ProcessResult without = belay({"run", regression(input)});
  EXPECT_EQ(without.status, 1) << without.err;
  EXPECT_THAT(checkpoints(), ElementsAre("0"));
  std::filesystem::remove_all(run_dir());
  const ProcessResult r = belay({"run", regression(input, "[checkpoint]\nsave_on_exception = true\n")});
  EXPECT_EQ(r.status, 1) << r.err;
  ASSERT_THAT(checkpoints(), ElementsAre("0", "7"));
  // And it continues with the bits of a run that did not fail.
  ASSERT_EQ(belay({"run", regression()}).status, 0);
  const std::string resumed = weights(run_dir(), 50);
  std::filesystem::remove_all(run_dir());
  ASSERT_EQ(belay({"run", regression()}).status, 0);
  EXPECT_EQ(weights(run_dir(), 50), resumed);
}

}  // namespace
}  // namespace belay::runtime::testing
