// SPDX-License-Identifier: Apache-2.0
// Hooks that end a run: when, with which status, and what is left.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>

#include "tests/e2e/hooks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class HooksThatStop : public HooksOfRun {
 protected:
  static constexpr const char* kSaves = "[checkpoint]\nsave_steps = 5\nsave_secs = 0\n";

  int newest_step() const {
    int newest = -1;
    for (const std::string& name : listing(run_dir()))
      if (name.starts_with("model.ckpt-")) newest = std::max(newest, std::stoi(name.substr(11)));
    return newest;
  }
};

TEST_F(HooksThatStop, ThresholdStopEndsAtTheTarget) {
  const std::string target = hook("threshold_stop", "target = 5.0\nevery_n_steps = 1");
  const ProcessResult r = run(target, 1000);
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the target is reached (target = 5)"));
  EXPECT_THAT(listing(run_dir()), Not(Contains("model.ckpt-1000")));
  // Started again it makes no step.
  const auto saved = [&] {
    std::vector<std::string> names = listing(run_dir());
    std::erase_if(names, [](const std::string& name) { return name.rfind("model.ckpt-", 0) != 0; });
    return names;
  };
  const std::vector<std::string> before = saved();
  EXPECT_EQ(run(target, 1000).status, 0);
  EXPECT_EQ(saved(), before);
}

// Every hundredth step is written besides.
TEST_F(HooksThatStop, TheLastStepIsInTheEventsWhateverEndedTheRun) {
  const auto loss_at_end = [&] {
    return nlohmann::json::parse(lines_with(contents(run_dir() + "/metrics.jsonl"), "\"end\"").at(0));
  };
  const auto expect_last_point = [&](const ProcessResult& r) {
    const Points loss = points("loss");
    ASSERT_FALSE(loss.empty()) << r.err;
    EXPECT_EQ(loss.back().first, newest_step()) << r.err;
    const auto end = loss_at_end();
    EXPECT_EQ(end.at("step"), newest_step());
    EXPECT_NEAR(loss.back().second, end.value("loss", loss.back().second), 1e-5);
  };
  const ProcessResult reached = run(hook("threshold_stop", "target = 5.0\nevery_n_steps = 1"), 1000);
  ASSERT_EQ(reached.status, 0) << reached.err;
  EXPECT_NE(newest_step() % 100, 1) << "chosen so that the step is not due";
  expect_last_point(reached);
  const ProcessResult compared = belay({"compare", run_dir(), run_dir()});
  EXPECT_THAT(compared.out, HasSubstr(std::to_string(newest_step()))) << compared.out;

  std::filesystem::remove_all(run_dir());
  BelayProcess running({"run", regression("delay_secs = 0.002\n", kSaves, 100'000)});
  ASSERT_TRUE(running.wait_until([&] { return std::filesystem::exists(run_dir() + "/model.ckpt-10"); }));
  running.kill(SIGTERM);
  const ProcessResult stopped = running.wait();
  ASSERT_EQ(stopped.signal, SIGTERM) << stopped.err;
  expect_last_point(stopped);
}

TEST_F(HooksThatStop, ThresholdStopFailsARunThatDiverged) {
  const ProcessResult r = belay({"run", regression("", hook("threshold_stop", "diverged = 1000.0\nevery_n_steps = 1")),
                                 "--set", "optimizer.learning_rate=3.0"});
  EXPECT_EQ(r.status, 4) << r.err;
  EXPECT_THAT(r.err, HasSubstr("training has diverged (diverged = 1000)"));
  EXPECT_THAT(r.err, Not(HasSubstr("--first-non-finite"))) << "the loss is finite";
}

TEST_F(HooksThatStop, ThresholdStopCountsOnInTheNextAttempt) {
  const std::string patient = hook("threshold_stop", "target = 1e6\npatience = 8\nevery_n_steps = 1");
  ASSERT_EQ(run(patient, 5).status, 0);
  const ProcessResult r = run(patient, 50);
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("at step 8, the target is reached"));
}

TEST_F(HooksThatStop, LimitBatchesCountsThisStart) {
  const std::string few = hook("limit_batches", "batches = 4");
  const ProcessResult first = run(few), second = run(few);
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("4 batches are trained (batches = 4)"));
  EXPECT_EQ(second.status, 0) << second.err;
  EXPECT_THAT(listing(run_dir()), Contains("model.ckpt-8"));
  EXPECT_THAT(listing(run_dir()), Not(Contains("model.ckpt-50")));
}

TEST_F(HooksThatStop, LimitBatchesCountsEarlierAttemptsToo) {
  const std::string few = hook("limit_batches", "batches = 9\ncount_earlier_attempts = true");
  ASSERT_EQ(run(few, 5).status, 0);
  ASSERT_EQ(run(few, 50).status, 0);
  EXPECT_THAT(listing(run_dir()), Contains("model.ckpt-9"));
}

// The hook asks after every step. A signal still ends the run. In the next start the hook asks before the first step,
// and the start continues all the same.
TEST_F(HooksThatStop, MinStepsRefusesWhatHooksAskForAndNoSignal) {
  const std::string manifest =
      regression("", hook("threshold_stop", "target = 1e6\nevery_n_steps = 1") + kSaves, 100'000);
  BelayProcess running({"run", manifest, "--set", "run.min_steps=99999"});
  ASSERT_TRUE(running.wait_until([&] { return std::filesystem::exists(run_dir() + "/model.ckpt-10"); }));
  running.kill(SIGTERM);
  const ProcessResult r = running.wait();
  EXPECT_EQ(r.signal, SIGTERM) << r.err;
  EXPECT_EQ(lines_with(r.err, "not stopped at step 1, before step 99999 ([run] min_steps): threshold_stop: ").size(),
            1u)
      << r.err;

  const int saved = newest_step();
  const std::string later = std::to_string(saved + 20);
  const ProcessResult again = belay({"run", manifest, "--set", "run.min_steps=" + later});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(newest_step(), saved + 20) << again.err;
  EXPECT_THAT(again.err, HasSubstr("not stopped at step " + std::to_string(saved) + ", before step " + later));

  // Where nothing is refused a start makes no step.
  EXPECT_EQ(belay({"run", manifest}).status, 0);
  EXPECT_EQ(newest_step(), saved + 20);
}

// The batch of step 13 has the NaN: without the guard the weights of step 13 had it too, and the error was the loss's.
TEST_F(HooksThatStop, NanGuardFailsBeforeTheGradientIsApplied) {
  const ProcessResult r = run(hook("nan_guard") + kSaves, 50, "nan_at_batch = 12\n");
  EXPECT_EQ(r.status, 4) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the gradient of 'linear/kernel', before it was applied: the tensor has NaN"));
  EXPECT_THAT(told(r), HasSubstr("the last checkpoint that is finite is 'DIR/run/model.ckpt-10'"));
  EXPECT_THAT(r.err, Not(HasSubstr("the training is no longer finite")));  // no variable was written
}

// In the first step that of step 0 is still being written.
TEST_F(HooksThatStop, NanGuardNamesACheckpointThatIsBeingWrittenOnceItIsThere) {
  const ProcessResult r = run(hook("nan_guard") + kSaves, 50, "nan_at_batch = 0\n");
  EXPECT_EQ(r.status, 4) << r.err;
  EXPECT_THAT(told(r), HasSubstr("the last checkpoint that is finite is 'DIR/run/model.ckpt-0'"));
  EXPECT_THAT(r.err, Not(HasSubstr("there is no checkpoint")));
}

TEST_F(HooksThatStop, NanGuardChecksTheWeightsThatAStepBeginsWith) {
  const std::string tables =
      "[scaffold]\ninit_fn = [{ plugin = \"assign\", vars = [\"linear/kernel\"], constant = inf }]\n";
  const ProcessResult r = run(hook("nan_guard", "gradients = false") + tables);
  EXPECT_EQ(r.status, 4) << r.err;
  EXPECT_THAT(r.err, HasSubstr("'linear/kernel', as the step found it: the tensor has"));
}

TEST_F(HooksThatStop, NanGuardChangesNoBit) { expect_same_weights(hook("nan_guard")); }

// The loss falls; with a rate that is far too high it jumps.
TEST_F(HooksThatStop, SpikeDetectionEndsTheRunAtAJump) {
  const std::string spikes = hook("spike_detection", "window = 5\ndeviations = 3.0\naction = \"fail\"");
  const ProcessResult r = belay({"run", regression("", spikes), "--set", "optimizer.learning_rate=2.0"});
  EXPECT_EQ(r.status, 4) << r.err;
  EXPECT_THAT(r.err, HasSubstr("'loss' jumps to "));
  EXPECT_EQ(nlohmann::json::parse(contents(run_dir() + "/spikes.json")).size(), 1u);
  expect_same_weights(hook("spike_detection"));
}

// The rate is a thousand times higher in step 24 alone, and zero after it: one jump, and the weights stay at its end.
TEST_F(HooksThatStop, SpikeDetectionWarnsOrStopsAsItIsTold) {
  const auto jumps = [&](const std::string& action) {
    return hook("spike_detection", "window = 20\ndeviations = 3.0\naction = \"" + action + "\"") +
           hook("parameter_schedule",
                "variable = \"learning_rate_scale\"\nsteps = [0, 24, 25]\nvalues = [1.0, 1000.0, 0.0]");
  };
  const auto spikes = [&] { return nlohmann::json::parse(contents(run_dir() + "/spikes.json")); };
  const ProcessResult warned = run(jumps("warn"));
  EXPECT_EQ(warned.status, 0) << warned.err;
  EXPECT_EQ(newest_step(), 50) << "it goes on";
  const auto list = spikes();
  ASSERT_GE(list.size(), 1u);
  const int first = list[0].at("global_step");
  EXPECT_GE(first, 24);
  EXPECT_LT(first, 30);
  EXPECT_EQ(lines_with(warned.err, "warning spike_detection: 'loss' jumps to ").size(), list.size()) << warned.err;
  const Points events = points("spike/loss");
  ASSERT_EQ(events.size(), list.size());
  EXPECT_EQ(events[0].first, first);
  EXPECT_NEAR(events[0].second, list[0].at("value").get<double>(), 1e-5 * events[0].second);

  std::filesystem::remove_all(run_dir());
  const ProcessResult stopped = run(jumps("stop"));
  EXPECT_EQ(stopped.status, 0) << stopped.err;
  EXPECT_THAT(stopped.err, HasSubstr("spike_detection: 'loss' jumps to "));
  EXPECT_THAT(lines_with(stopped.err, "warning spike_detection"), ::testing::IsEmpty());
  EXPECT_EQ(newest_step(), first);
  EXPECT_EQ(spikes().size(), 1u);
}

TEST_F(HooksThatStop, StopFileStopsTheRunAndIsRemoved) {
  const std::string tables = hook("stop_file", "every_n_steps = 1");
  const std::string input = "delay_secs = 0.002\n";
  BelayProcess running({"run", regression(input, tables, 100'000)});
  ASSERT_TRUE(running.wait_until([&] { return std::filesystem::exists(run_dir() + "/model.ckpt-0"); }));
  write_file(run_dir() + "/STOP", "");
  const ProcessResult r = running.wait();
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(told(r), HasSubstr("there is 'DIR/run/STOP'"));
  EXPECT_THAT(listing(run_dir()), Not(Contains("STOP")));
  const int stopped = newest_step();
  EXPECT_EQ(run(tables, stopped + 5, input).status, 0);  // the next start continues
  EXPECT_EQ(newest_step(), stopped + 5);
  expect_same_weights(hook("stop_file"));
}

}  // namespace
}  // namespace belay::runtime::testing
