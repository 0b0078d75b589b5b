// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/host/monitored_training_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/checkpoint/directory/run_lock.h"
#include "tests/estimator/training_session.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TrainingSession : public TrainingSessionTest {};

TEST_F(TrainingSession, KeepsAsManyCheckpointsAsItIsTold) {
  TrainingSessionSetup o = options(temp / "run");
  o.checkpoint.save_steps = 1;
  o.checkpoint.max_to_keep = 2;
  start(o, 6);
  EXPECT_THAT(checkpoints_in(temp / "run"), ElementsAre("model.ckpt-5", "model.ckpt-6"));
}

TEST_F(TrainingSession, WritesSummariesAndStepsPerSecond) {
  TrainingSessionSetup o = options(temp / "run");
  o.session.save_summaries_steps = 4;
  o.session.log_step_count_steps = 5;
  start(o, 10);
  const EventFiles events = read_event_files(temp / "run");
  EXPECT_EQ(events.files, 1);
  EXPECT_EQ(events.graphs, 1);
  EXPECT_EQ(events.steps.at("weight"), (Steps{0, 4, 8}));
  EXPECT_EQ(events.steps.at("global_step/sec"), (Steps{5, 10}));
  EXPECT_EQ(events.sessions.at(pb::SessionLog::START), (Steps{1}));
  EXPECT_EQ(events.sessions.at(pb::SessionLog::CHECKPOINT), (Steps{0, 10}));
  EXPECT_EQ(events.sessions.at(pb::SessionLog::STOP), (Steps{10}));
}

TEST_F(TrainingSession, WritesSummariesAfterEachPeriodOfSeconds) {
  TrainingSessionSetup o = options(temp / "run");
  o.session.save_summaries_secs = 3.0;
  start(o, 8);
  EXPECT_EQ(read_event_files(temp / "run").steps.at("weight"), (Steps{0, 3, 6}));
}

TEST_F(TrainingSession, RecoversFromTheLastCheckpointAndSaysSo) {
  TrainingSessionSetup o = options(temp / "run");
  o.checkpoint.save_steps = 2;
  Probe& failing = probe_in(o);
  MonitoredTrainingSession session(program.graph, std::move(o));
  train(session, 3);
  failing.in["before_run"] = [&] {
    failing.in.clear();
    fail(Code::kAborted, "the machine was wanted elsewhere");
  };
  EXPECT_EQ(train(session), 3);  // from 2
  EXPECT_EQ(session->recoveries(), 1);
  EXPECT_TRUE(logged("recovery 1: "));
  EXPECT_TRUE(logged("the machine was wanted elsewhere"));
}

TEST_F(TrainingSession, T_14c_TheStopEventIsOfTheStepThatTheVariablesAreAt) {
  TrainingSessionSetup o = options(temp / "run");
  Probe& failing = probe_in(o);
  {
    MonitoredTrainingSession session(program.graph, std::move(o));
    session->scope([&] {
      train(session, 9);
      failing.in["before_run"] = [&] {
        failing.in.clear();
        fail(Code::kAborted, "the machine was wanted elsewhere");
      };
      EXPECT_EQ(train(session, 7), 7);  // from 0
    });
  }
  EXPECT_EQ(read_event_files(temp / "run").sessions.at(pb::SessionLog::STOP), (Steps{7}));
}

TEST_F(TrainingSession, TheInitFunctionOfTheScaffoldRunsWhereNothingIsRestored) {
  int calls = 0;
  TrainingSessionSetup o = options(temp / "run");
  o.scaffold.init_fn = [&](Session& session) {
    ++calls;
    session.assign("weight", Tensor(7.0f));
  };
  for (const float expected : {7.0f, 7.5f}) {
    Program fresh(*ops);
    MonitoredTrainingSession session(fresh.graph, o);
    EXPECT_EQ(session->run({fresh.weight})[0].scalar<float>(), expected);
    session->run({fresh.train});
    session->close();
  }
  EXPECT_EQ(calls, 1);
}

TEST_F(TrainingSession, AHooksStateComesBackWithTheCheckpoint) {
  for (const std::int64_t state : {5, 6}) {
    TrainingSessionSetup o = options(temp / "run");
    Probe& kept = probe_in(o);
    MonitoredTrainingSession session(program.graph, std::move(o));
    EXPECT_EQ(kept.state, state == 5 ? 0 : 5);
    kept.state = state;
    train(session);
    session->close();
  }
}

TEST_F(TrainingSession, T_138_ADirectoryBelongsToOneSessionAlsoInOneProcess) {
  MonitoredTrainingSession first(program.graph, options(temp / "run"));
  Program other(*ops);
  try {
    MonitoredTrainingSession second(other.graph, options(temp / "run"));
    FAIL() << "two sessions in one directory";
  } catch (const RunInUse& e) {
    EXPECT_THAT(e.what(), HasSubstr("[B5112] the run directory '" + temp / "run" +
                                    "' is in use by another session of this process (host "));
  }
}

TEST_F(TrainingSession, APluginsHookTakesOptionsAndReplacesTheDefaultOne) {
  TrainingSessionSetup o = options(temp / "run");
  o.checkpoint.save_steps = 1;
  o.hooks.push_back(plugin_hook("checkpoint_saver", {{"save_steps", std::int64_t{2}}}));
  o.hooks.push_back(plugin_hook("stop_at_step", {{"last_step", std::int64_t{3}}}, "enough"));
  MonitoredTrainingSession session(program.graph, std::move(o));
  train(session, 3);
  EXPECT_TRUE(session->should_stop());
  session->close();
  EXPECT_EQ(session->end_reason().text, "enough: reached step 3 (last_step = 3)");
  EXPECT_THAT(checkpoints_in(temp / "run"), ElementsAre("model.ckpt-0", "model.ckpt-2", "model.ckpt-3"));
}

// A worker has no directory and no saver, and looks into the chief's all the same.
TEST_F(TrainingSession, AWorkerStopsOnceTheChiefHasSaved) {
  const auto shared = std::make_shared<StoreTargets>();
  TrainingSessionSetup chiefs = options(temp / "run");
  chiefs.checkpoint.save_steps = 2;
  chiefs.target = "local:shared";
  chiefs.targets = shared;
  MonitoredTrainingSession chief(program.graph, std::move(chiefs));
  TrainingSessionSetup o = options("");
  o.is_chief = false;
  o.target = "local:shared";
  o.targets = shared;
  o.hooks.push_back(
      plugin_hook("stop_at_checkpoint_step", {{"directory", temp / "run"}, {"last_step", std::int64_t{2}}}));
  Program same(*ops);
  MonitoredTrainingSession worker(same.graph, std::move(o));
  EXPECT_FALSE(worker->should_stop());
  train(chief, 2);
  clock.advance(30 * kSecond);
  worker->run({same.step});
  EXPECT_TRUE(worker->should_stop());
  worker->close();
  EXPECT_EQ(worker->end_reason().text,
            "stop_at_checkpoint_step: the newest checkpoint is '" + temp / "run" + "/model.ckpt-2' (last_step = 2)");
}

TEST_F(TrainingSession, TwoHooksOfOneNameAreRefused) {
  TrainingSessionSetup o = options(temp / "run");
  o.hooks.push_back(plugin_hook("logging_tensor", {{"tensors", std::vector<std::string>{"weight"}}, {"at_end", true}}));
  o.hooks.push_back(probe("logging_tensor"));
  EXPECT_EQ(error_of([&] { MonitoredTrainingSession session(program.graph, std::move(o)); }),
            "INVALID_ARGUMENT: [B5047] two hooks are named \"logging_tensor\": give each hook another name");
}

TEST_F(TrainingSession, AHookOfAnotherSessionIsRefused) {
  TrainingSessionSetup o = options("");
  o.hooks.push_back(probe("watch"));
  start(o, 1);
  EXPECT_THAT(error_of([&] { start(o, 1); }), HasSubstr("the hook is in another session already"));
}

TEST_F(TrainingSession, InitFunctionPluginsRunBeforeTheScaffoldsWhereNothingIsRestored) {
  start(options(temp / "source"), 3);  // leaves the weight at 2.5
  std::vector<float> seen;
  TrainingSessionSetup o = options(temp / "run");
  PluginUse warm;
  warm.plugin = "warm_start";
  warm.options = {{"from", temp / "source", {}, {}}};
  o.init_fns = {warm};
  o.scaffold.init_fn = [&](Session& session) { seen.push_back(session.run({program.weight})[0].scalar<float>()); };
  start(o, 1);
  EXPECT_THAT(seen, ElementsAre(2.5f));
  start(o, 1);
  EXPECT_THAT(seen, ElementsAre(2.5f));
}

TEST_F(TrainingSession, TheSaverIsWhicheverOfTheDefaultPluginsIsNamed) {
  for (const auto& [saver, file] : {std::pair{"npz", "model.npz"}, std::pair{"tf_bundle", "model.index"}}) {
    TrainingSessionSetup o = options(temp / saver);
    o.saver = saver;
    start(o, 3);
    EXPECT_TRUE(std::filesystem::exists(temp / (std::string(saver) + "/model.ckpt-3/" + file)));
    EXPECT_EQ(start(o, 2), std::pair(std::int64_t{3}, std::int64_t{5}));
  }
}

TEST_F(TrainingSession, APluginThatIsNotGivenIsNamed) {
  TrainingSessionSetup o = options(temp / "run");
  o.plugins.clear();
  EXPECT_EQ(error_of([&] { MonitoredTrainingSession session(program.graph, std::move(o)); }),
            "NOT_FOUND: [B2039] there is no saver \"safetensors\" among the session's plugins: give it "
            "belay::default_plugins()");
  TrainingSessionSetup wrong = options(temp / "run");
  wrong.saver = "parchment";
  EXPECT_THAT(error_of([&] { MonitoredTrainingSession session(program.graph, std::move(wrong)); }),
              ::testing::StartsWith(
                  "NOT_FOUND: [B2039] there is no saver \"parchment\" among the session's plugins; there are: "));
}

TEST_F(TrainingSession, ARestartWithOtherThreadsOrSeedIsAWarning) {
  start(options(temp / "run"), 1);
  TrainingSessionSetup o = options(temp / "run");
  o.threads = 2;
  o.seed = 7;
  start(o, 0);
  EXPECT_TRUE(
      logged("the run may not end with the same bits as one that was never stopped: threads was 1, is 2; seed was "
             "42, is 7"));
}

TEST_F(TrainingSession, TheGraphIsOpenAgainAfterwards) {
  {
    MonitoredTrainingSession session(program.graph, options(temp / "run"));
    EXPECT_TRUE(program.graph.finalized());
    session->close();
    EXPECT_FALSE(program.graph.finalized());
  }
}

}  // namespace
}  // namespace belay::runtime::testing
