// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/host/run_host.h"

#include <filesystem>

#include "runtime/checkpoint/directory/run_lock.h"
#include "runtime/estimator/host/session_host.h"
#include "tests/estimator/training_session.h"

namespace belay::runtime::testing {
namespace {

class RunHostTest : public TrainingSessionTest {
 protected:
  Platform platform() { return {clock, *log, posix_file_system()}; }
  RunHostOptions in_directory() { return {.dir = temp.path(), .threads = 1}; }
  static std::size_t event_files(const std::string& path) {
    std::size_t n = 0;
    for (const std::string& name : posix_file_system().open_directory(path)->entries())
      n += name.starts_with("events.out.tfevents.") ? 1 : 0;
    return n;
  }

  RunControl control;
};

TEST_F(RunHostTest, TheLockIsKeptFromSessionToSession) {
  std::optional<RunHost> run(std::in_place, platform(), control, in_directory());
  run->take_directory();
  for (int i = 0; i < 2; ++i) {
    SessionHost training(*run, {.saves = true});
    RunHost other(platform(), control, in_directory());
    EXPECT_THROW(other.take_directory(), RunInUse);
  }
  RunHost other(platform(), control, in_directory());
  EXPECT_THROW(other.take_directory(), RunInUse);
  run.reset();
  other.take_directory();
  EXPECT_TRUE(other.has_directory());
}

TEST_F(RunHostTest, ATrainingThatHasFinishedSaysSoUntilTheNextAttempt) {
  for (int i = 0; i < 2; ++i) {
    RunHost run(platform(), control, in_directory());
    run.take_directory();
    run.keep_directory();
    EXPECT_FALSE(std::filesystem::exists(temp / "finished"));
    run.note_finished(20);
    EXPECT_TRUE(std::filesystem::exists(temp / "finished"));
  }
}

TEST_F(RunHostTest, EventsMayLieInAnotherDirectoryThanCheckpoints) {
  const TempDir elsewhere;
  RunHostOptions options = in_directory();
  options.events_dir = elsewhere.path();
  RunHost run(platform(), control, std::move(options));
  run.take_directory();
  SessionHost training(run, {.saves = true}), evaluation(run, {.events_folder = "eval"});
  training.open_events();
  evaluation.open_events();
  EXPECT_EQ(event_files(temp.path()), 0u);
  EXPECT_EQ(event_files(elsewhere.path()), 1u);
  EXPECT_EQ(event_files(elsewhere.path() + "/eval"), 1u);
}

TEST_F(RunHostTest, B_12a_PluginsOfASessionReadWhatItIsFor) {
  RunHost run(platform(), control, {});
  SessionHost training(run, {.saves = true}), evaluation(run, {.mode = Mode::kEval});
  EXPECT_EQ(training.services().mode(), BELAY_MODE_TRAIN);
  EXPECT_EQ(evaluation.services().mode(), BELAY_MODE_EVAL);
}

TEST_F(RunHostTest, B_12d_TheAttemptIsCountedWhenTheDirectoryIsKept) {
  const auto attempt = [&](bool keeps, bool starts_over = false) {
    RunHostOptions options = in_directory();
    options.starts_over = starts_over;
    RunHost run(platform(), control, std::move(options));
    SessionHost training(run, {.saves = true});
    run.take_directory();
    if (keeps) run.keep_directory();
    EXPECT_EQ(run.services().attempt(), training.services().attempt());
    return training.services().attempt();
  };
  EXPECT_EQ(attempt(true), 1);
  EXPECT_EQ(attempt(false), 2);
  EXPECT_EQ(attempt(true), 2) << "the one before came to nothing";
  EXPECT_EQ(attempt(true), 3);
  EXPECT_EQ(attempt(true, true), 1);
  EXPECT_EQ(attempt(true), 2);
  for (const char* damaged : {"", "x\n", "2", "-1\n", "2 3\n"}) {
    posix_file_system().open_directory(temp.path())->replace("attempts", damaged);
    EXPECT_EQ(attempt(false), 1) << damaged;
  }
  EXPECT_TRUE(logged("holds no number"));
}

TEST_F(RunHostTest, WithoutADirectoryNothingIsKept) {
  RunHost run(platform(), control, {});
  run.take_directory();
  SessionHost training(run, {.saves = true});
  training.open_events();
  EXPECT_FALSE(run.has_directory());
  EXPECT_EQ(training.events(), nullptr);
  EXPECT_EQ(run.saver(), nullptr);
}

TEST_F(RunHostTest, SessionsHaveHooksOfTheirOwn) {
  RunHost run(platform(), control, {});
  SessionHost training(run, {.saves = true}), evaluation(run, {});
  const OwnHook hook = probe("x");
  training.add_hook(hook.name, hook.make);
  EXPECT_EQ(training.hooks().size(), 1u);
  EXPECT_EQ(evaluation.hooks().size(), 0u);
  EXPECT_NE(&training.services(), &evaluation.services());
}

TEST_F(RunHostTest, EachThreadThatCallsPluginsHasItsMonitor) {
  RunHost run(platform(), control, {});
  CallMonitor& input = run.add_monitor();
  EXPECT_NE(&input, &run.monitor());
  EXPECT_EQ(run.monitors(), (std::vector<const CallMonitor*>{&run.monitor(), &run.saver_monitor(), &input}));
}

}  // namespace
}  // namespace belay::runtime::testing
