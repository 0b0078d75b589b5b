// SPDX-License-Identifier: Apache-2.0
// belay events, through the real program.
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class EventsCommandTest : public RunTest {
 protected:
  // Two attempts: to step 30, and on to 50.
  void train() {
    const std::string hooks = "[[hooks]]\nplugin = \"summary_saver\"\nsave_steps = 10\n";
    ASSERT_EQ(belay({"run", regression("", hooks, 30)}).status, 0);
    ASSERT_EQ(belay({"run", regression("", hooks, 50)}).status, 0);
  }
  ProcessResult events(std::vector<std::string> args) const {
    args.insert(args.begin(), {"events", run_dir()});
    return belay(std::move(args));
  }
  nlohmann::json json(std::vector<std::string> args) const {
    args.emplace_back("--json");
    return nlohmann::json::parse(events(std::move(args)).out, nullptr, false);
  }
  std::string first_file() const {
    std::string first;
    for (const auto& entry : std::filesystem::directory_iterator(run_dir())) {
      const std::string path = entry.path().string();
      if (path.find("tfevents") != std::string::npos && (first.empty() || path < first)) first = path;
    }
    return first;
  }
};

TEST_F(EventsCommandTest, TheTableIsByTagAndStepWithAttempts) {
  train();
  const ProcessResult r = events({"--tag", "loss"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, ContainsRegex("^tag +step +value +kind +attempt +time\n"));
  EXPECT_THAT(r.out, ContainsRegex("\nloss +1 +[0-9.e-]+ +scalar +1 +20[0-9-]+T[0-9:]+Z\n"));
  EXPECT_THAT(r.out, ContainsRegex("\nloss +[345][0-9] +[0-9.e-]+ +scalar +2 +20"));
  EXPECT_THAT(r.out, Not(HasSubstr("(start)")));
  EXPECT_THAT(events({}).out, ContainsRegex("\\(start\\) +31 +start +2"));
}

TEST_F(EventsCommandTest, JsonAndCsvHaveTheSameRows) {
  train();
  const nlohmann::json all = json({});
  ASSERT_TRUE(all.is_array());
  ASSERT_GT(all.size(), 4u);
  const ProcessResult csv = events({"--csv"});
  EXPECT_EQ(csv.status, 0) << csv.err;
  EXPECT_THAT(csv.out, ContainsRegex("^run,attempt,tag,kind,step,wall_time,value,redone\n"));
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.out.begin(), csv.out.end(), '\n')), all.size() + 1);
  for (const auto& point : all) EXPECT_EQ(point["run"], ".");
  const nlohmann::json steps = json({"--tag", "loss$", "--steps", "20:45"});
  ASSERT_FALSE(steps.empty());
  for (const auto& point : steps) {
    EXPECT_EQ(point["tag"], "loss");
    EXPECT_GE(point["step"], 20);
    EXPECT_LE(point["step"], 45);
    EXPECT_TRUE(point["value"].is_number());
  }
}

TEST_F(EventsCommandTest, ATornTailIsAWarningAndDamageIsStatus1) {
  train();
  const std::string file = first_file(), bytes = contents(file);
  write_file(file, bytes.substr(0, bytes.size() - 3));
  const ProcessResult torn = events({});
  EXPECT_EQ(torn.status, 0);
  EXPECT_THAT(torn.err, HasSubstr("warning: '" + file + "' ends within the record at byte "));
  EXPECT_THAT(torn.out, HasSubstr("(start)"));
  std::string flipped = bytes;
  flipped[0] = static_cast<char>(flipped[0] ^ 1);
  write_file(file, flipped);
  const ProcessResult damaged = events({});
  EXPECT_EQ(damaged.status, 1);
  EXPECT_THAT(damaged.err, HasSubstr("error: '" + file + "': the record at byte 0"));
  EXPECT_THAT(damaged.out, HasSubstr("(start)"));  // of the other file
}

TEST_F(EventsCommandTest, ARunsOptionsAndItsEndAreThereAndItsSession) {
  ASSERT_EQ(belay({"run", regression("", "", 30)}).status, 0);
  const ProcessResult options = events({"--tag", "_hparams_", "--csv"});
  EXPECT_EQ(options.status, 0) << options.err;
  EXPECT_THAT(options.out, HasSubstr("\n.,1,_hparams_/session_start_info,hparams,0,"));
  EXPECT_THAT(options.out, HasSubstr(", optimizer.learning_rate = 0."));
  EXPECT_THAT(options.out, HasSubstr(", optimizer.name = sgd, "));
  EXPECT_THAT(options.out, HasSubstr(", run.seed = 42, "));
  EXPECT_THAT(options.out, ContainsRegex("\n.,1,_hparams_/session_end_info,hparams,0,[0-9.e+]+,success,false\n"));
  const std::string all = events({"--csv"}).out;
  for (const char* line : {"\n.,1,,graph,0,", "\n.,1,,start,1,", "\n.,1,,checkpoint,30,", "\n.,1,,stop,30,"})
    EXPECT_THAT(all, HasSubstr(line));
}

TEST_F(EventsCommandTest, ARunThatFailsSaysSoAndOneThatIsStoppedHasNotEnded) {
  ASSERT_EQ(belay({"run", regression("fail_at_batch = 5\nfail_with = \"data_loss\"\n")}).status, 1);
  EXPECT_THAT(events({"--tag", "_hparams_/session_end"}).out, HasSubstr(" failure "));
  std::filesystem::remove_all(run_dir());
  BelayProcess run({"run", regression("delay_secs = 0.01\n", "", 100000)});
  ASSERT_TRUE(run.wait_for("saved ")) << run.wait().err;
  run.kill(SIGTERM);
  EXPECT_EQ(run.wait().signal, SIGTERM);
  EXPECT_THAT(events({}).out, HasSubstr("_hparams_/session_start_info"));
  EXPECT_THAT(events({}).out, Not(HasSubstr("_hparams_/session_end_info")));
}

// By the system's clock: nothing else writes what was added.
TEST_F(EventsCommandTest, ARunThatIsKilledHasWhatIsOlderThanItsFlushSecs) {
  const std::string session = "[session]\nevents_flush_secs = 0.1\nsave_summaries_steps = 1\n";
  BelayProcess run({"run", regression("delay_secs = 0.01\n", session, 100000)});
  ASSERT_TRUE(run.wait_for("saved ")) << run.wait().err;
  // Until there is such a tag the command fails.
  for (nlohmann::json found; !found.is_array() || found.empty(); std::this_thread::yield())
    found = json({"--tag", "loss", "--steps", "20:"});
  run.kill(SIGKILL);
  EXPECT_EQ(run.wait().signal, SIGKILL);
  EXPECT_THAT(events({"--tag", "loss", "--steps", "20:20"}).out, ContainsRegex("\nloss +20 "));
}

TEST_F(EventsCommandTest, WhatIsWrongWithTheCommandLineIsSaid) {
  const struct {
    std::vector<std::string> args;
    std::string expected;
  } cases[] = {
      {{"events"}, "belay events takes one directory or event file, none was given"},
      {{"events", temp.path()}, "holds no event file"},
      {{"events", temp / "none"}, "there is no '" + (temp / "none") + "'"},
      {{"events", temp.path(), "--steps", "a:b"}, "--steps is \"a:b\", must be FIRST:LAST"},
      {{"events", temp.path(), "--json", "--csv"}, "--json and --csv are two formats"},
      {{"events", temp.path(), "--tag", "("}, "--tag is \"(\", which is no regular expression"},
  };
  for (const auto& c : cases) {
    const ProcessResult r = belay(c.args);
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_THAT(r.err, HasSubstr(c.expected));
  }
}

TEST_F(EventsCommandTest, T_128_ATagThatNoneHasIsAnErrorWithThoseThatThereAre) {
  train();
  const ProcessResult r = events({"--tag", "nosuch"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_THAT(r.err, HasSubstr("error[B5005]: --tag: no tag is matched by 'nosuch'; there are: "));
  EXPECT_THAT(r.err, HasSubstr("loss"));
  const ProcessResult none = events({"--tag", "loss", "--steps", "1000000:"});
  EXPECT_EQ(none.status, 0) << "the tag is there";
}

TEST_F(EventsCommandTest, AnotherProgramsRunIsRead) {
  const char* given = std::getenv("BELAY_SAMPLES_DIR");
  const std::string samples = given != nullptr ? given : BELAY_SOURCE_DIR "/../shared/samples";
  if (!std::filesystem::exists(samples)) GTEST_SKIP() << "no samples at " << samples << "; set BELAY_SAMPLES_DIR";
  const ProcessResult r = belay({"events", samples + "/events/tfx_estimator", "--tag", "global_step/sec", "--csv"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 10);
  EXPECT_THAT(r.out, HasSubstr("\n.,1,global_step/sec,scalar,101,"));
  const ProcessResult all = belay({"events", samples + "/events/tfx_estimator", "--csv"});
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_EQ(all.err, "");
  for (const char* line :
       {"\n.,1,,checkpoint,0,", "\n.,1,,start,1,", "\n.,1,,checkpoint,999,", "\n.,1,,checkpoint,1000,"})
    EXPECT_THAT(all.out, HasSubstr(line));
  EXPECT_THAT(all.out,
              ContainsRegex("\neval_chicago-taxi-eval,1,.*checkpoint_path.*,text,1000,.*model.ckpt-1000,false\n"));
}

}  // namespace
}  // namespace belay::runtime::testing
