// SPDX-License-Identifier: Apache-2.0
// MonitoredTrainingSession: section 5 of the contract.
#include "runtime/estimator/host/monitored_training_session.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/estimator/training_session.h"
#include "tests/platform/faulty_file_system.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class TrainingSessionConformance : public TrainingSessionTest {};

TEST_F(TrainingSessionConformance, MTS_01_ASecondSessionGoesOnWhereTheFirstOneStopped) {
  {
    MonitoredTrainingSession session(program.graph, options(temp / "run"));
    session->scope([&] {
      EXPECT_EQ(step_of(session), 0);
      EXPECT_EQ(train(session), 1);
      EXPECT_EQ(train(session), 2);
    });
  }
  Program again(*ops);
  MonitoredTrainingSession session(again.graph, options(temp / "run"));
  EXPECT_TRUE(session->restored());
  EXPECT_EQ(session.checkpoint(), temp / "run/model.ckpt-2");
  EXPECT_EQ(session->run({again.step})[0].scalar<std::int64_t>(), 2);
}

TEST_F(TrainingSessionConformance, MTS_02_SavesEveryHundredStepsAndAtTheEnd) {
  TrainingSessionSetup o = options(temp / "run");
  o.checkpoint.save_steps = 100;
  EXPECT_EQ(start(o, 100), std::pair(std::int64_t{0}, std::int64_t{100}));
  EXPECT_THAT(checkpoints_in(temp / "run"), UnorderedElementsAre("model.ckpt-0", "model.ckpt-100"));
  EXPECT_EQ(start(o, 0).first, 100);
}

TEST_F(TrainingSessionConformance, MTS_03_SavesEveryTenthOfASecondAndAtTheEnd) {
  TrainingSessionSetup o = options(temp / "run");
  o.checkpoint.save_secs = 0.1;
  EXPECT_EQ(start(o, 11).second, 11);  // a second passes with each step
  EXPECT_EQ(start(o, 0).first, 11);
}

TEST_F(TrainingSessionConformance, MTS_04_WritesTheUsersSummaryAndStepsPerSecond) {
  TrainingSessionSetup o = options(temp / "run");
  o.session.save_summaries_steps = 100;
  o.session.log_step_count_steps = 10;
  start(o, 101);
  const EventFiles events = read_event_files(temp / "run");
  EXPECT_EQ(events.steps.at("weight"), (Steps{0, 100}));
  EXPECT_EQ(events.steps.at("global_step/sec"), (Steps{10, 20, 30, 40, 50, 60, 70, 80, 90, 100}));
}

TEST_F(TrainingSessionConformance, MTS_05_WritesThemByTheClockToo) {
  TrainingSessionSetup o = options(temp / "run");
  o.session.save_summaries_secs = 0.1;
  o.session.log_step_count_steps = 10;
  start(o, 20);
  const EventFiles events = read_event_files(temp / "run");
  EXPECT_EQ(events.steps.at("weight").size(), 21u);  // the look at step 0 and the steps
  EXPECT_EQ(events.steps.at("global_step/sec"), (Steps{10, 20}));
}

TEST_F(TrainingSessionConformance, MTS_06_APeriodOfZeroSavesNothingAndTheChiefsHooksBeginOnce) {
  TrainingSessionSetup o = options(temp / "run");
  o.checkpoint.save_secs = 0;
  o.chief_only_hooks.push_back(probe("own_saver"));
  EXPECT_EQ(start(o, 3).second, 3);
  EXPECT_EQ(std::count(timeline.begin(), timeline.end(), "own_saver.begin"), 1);
  EXPECT_THAT(checkpoints_in(temp / "run"), IsEmpty());
  TrainingSessionSetup second = options(temp / "run");
  EXPECT_EQ(start(second, 0).first, 0);
}

TEST_F(TrainingSessionConformance, MTS_08_WithoutSaveGraphDefThereIsNoGraphAnywhere) {
  for (const bool wanted : {true, false}) {
    TrainingSessionSetup o = options(temp / (wanted ? "with" : "without"));
    o.save_graph_def = wanted;
    o.checkpoint.save_steps = 1;
    start(o, 1);
    EXPECT_EQ(read_event_files(o.checkpoint_dir).graphs, wanted ? 1 : 0);
    for (const std::string& name : posix_file_system().open_directory(o.checkpoint_dir)->entries()) {
      EXPECT_FALSE(name.ends_with(".pbtxt")) << name;
      EXPECT_FALSE(name.ends_with(".meta")) << name;
    }
  }
}

// The part of the row that is not about loading a SavedModel: 6 by the program, 7 trained, 8 after the restart.
TEST_F(TrainingSessionConformance, MTS_09_VariablesThatWereThereBeforeTheSessionAreSavedAndRestored) {
  for (const float expected : {6.0f, 7.0f}) {
    NodeGraph graph_of_start(*ops);
    const belay::Graph handle = graph_of_start.handle();
    const Output count = ops::create_global_step(handle);
    const Output v = ops::variable(handle, "v", Tensor(6.0f));
    const Output grow = ops::assign_add(v, ops::constant(handle, Tensor(1.0f)));
    Output next;
    {
      const auto after = handle.after({grow});
      next = ops::assign_add(count, ops::constant(handle, Tensor(std::int64_t{1})));
    }
    MonitoredTrainingSession session(graph_of_start, options(temp / "run"));
    EXPECT_EQ(session->run({v})[0].scalar<float>(), expected);
    session->run({next});
    EXPECT_EQ(session->run({v})[0].scalar<float>(), expected + 1);
    session->close();
  }
}

TEST_F(TrainingSessionConformance, MTS_11_APeriodOfZeroDisablesSummariesAndStepCounts) {
  TrainingSessionSetup o = options(temp / "run");
  o.session.save_summaries_steps = 0;
  o.session.log_step_count_steps = 0;
  start(o, 300);
  EXPECT_TRUE(read_event_files(temp / "run").steps.empty());
}

TEST_F(TrainingSessionConformance, MTS_11_ASummaryDirectoryOfItsOwnGetsTheEvents) {
  TrainingSessionSetup o = options(temp / "run");
  o.summary_dir = temp / "plots";
  start(o, 1);
  EXPECT_EQ(read_event_files(temp / "run").files, 0);
  EXPECT_EQ(read_event_files(temp / "plots").steps.at("weight"), (Steps{0}));
  EXPECT_THAT(checkpoints_in(temp / "plots"), IsEmpty());
}

TEST_F(TrainingSessionConformance, MTS_11_ASummaryDirectoryNeedsNoCheckpoints) {
  TrainingSessionSetup o = options("");
  o.summary_dir = temp / "plots";
  start(o, 1);
  EXPECT_EQ(read_event_files(temp / "plots").steps.at("weight"), (Steps{0}));
  EXPECT_THAT(checkpoints_in(temp / "plots"), IsEmpty());
}

TEST_F(TrainingSessionConformance, MTS_11_WithoutADirectoryNothingIsOnDisk) {
  FaultyFileSystem files(posix_file_system());
  TrainingSessionSetup o = options("");
  o.files = &files;
  o.checkpoint.save_steps = 1;
  {
    MonitoredTrainingSession session(program.graph, std::move(o));
    session->scope([&] { train(session, 3); });
    EXPECT_EQ(session.checkpoint(), "");
  }
  EXPECT_THAT(files.calls(), IsEmpty());
  EXPECT_EQ(start(options(""), 0).first, 0);
}

TEST_F(TrainingSessionConformance, MTS_12_AWorkerSharesTheChiefsVariablesAndKeepsNothing) {
  const auto shared = std::make_shared<StoreTargets>();
  TrainingSessionSetup of_chief = options(temp / "run");
  of_chief.target = "local:training";
  of_chief.targets = shared;
  of_chief.checkpoint.save_steps = 1;
  MonitoredTrainingSession chief(program.graph, std::move(of_chief));
  train(chief, 3);

  Program other(*ops);
  TrainingSessionSetup of_worker = options(temp / "worker");
  of_worker.is_chief = false;
  of_worker.target = "local:training";
  of_worker.targets = shared;
  of_worker.summary_dir = temp / "worker_plots";
  of_worker.checkpoint.save_steps = 1;
  of_worker.hooks.push_back(probe("every"));
  of_worker.chief_only_hooks.push_back(probe("chief"));
  MonitoredTrainingSession worker(other.graph, std::move(of_worker));
  EXPECT_EQ(worker->run({other.train})[0].scalar<std::int64_t>(), 4);
  EXPECT_EQ(step_of(chief), 4);
  worker->close();
  EXPECT_EQ(worker.checkpoint(), "");
  EXPECT_THAT(new_events(), ElementsAre("every.begin", "every.after_create_session", "every.before_run",
                                        "every.after_run", "every.end"));
  EXPECT_FALSE(posix_file_system().exists(temp / "worker"));
  EXPECT_FALSE(posix_file_system().exists(temp / "worker_plots"));
}

// TensorFlow's raises an error.
TEST_F(TrainingSessionConformance, MTS_13_OfTwoPeriodsTheOneThatEndsFirstSaves) {
  TrainingSessionSetup o = options(temp / "run");
  o.checkpoint.save_steps = 3;
  o.checkpoint.save_secs = 5.0;
  MonitoredTrainingSession session(program.graph, std::move(o));
  train(session, 3);
  EXPECT_EQ(session.checkpoint(), temp / "run/model.ckpt-3");
  clock.advance(10 * kSecond);
  train(session);
  EXPECT_EQ(session.checkpoint(), temp / "run/model.ckpt-4");
}

TEST_F(TrainingSessionConformance, MTS_13_SoWithTwoPeriodsOfSummaries) {
  TrainingSessionSetup o = options(temp / "run");
  o.session.save_summaries_steps = 4;
  o.session.save_summaries_secs = 6.0;
  start(o, 9);
  EXPECT_EQ(read_event_files(temp / "run").steps.at("weight"), (Steps{0, 4, 8}));
}

TEST_F(TrainingSessionConformance, MTS_13_AZeroBesideAPeriodLeavesThePeriod) {
  TrainingSessionSetup o = options(temp / "run");
  o.checkpoint.save_steps = 5;
  o.checkpoint.save_secs = 0;
  start(o, 5);
  EXPECT_THAT(checkpoints_in(temp / "run"), UnorderedElementsAre("model.ckpt-0", "model.ckpt-5"));
}

TEST_F(TrainingSessionConformance, MTS_14_TheTimeBetweenAWorkersLooksCanBeSet) {
  const auto shared = std::make_shared<StoreTargets>();
  const auto kept_alive = shared->open("local:training");
  TrainingSessionSetup o = options("");
  o.is_chief = false;
  o.target = "local:training";
  o.targets = shared;
  o.max_wait_secs = 10;
  o.recovery_wait_secs = 4;
  EXPECT_EQ(error_of([&] { MonitoredTrainingSession session(program.graph, std::move(o)); }),
            "DEADLINE_EXCEEDED: [B5073] Session was not ready after waiting 10 secs. Variables not initialized (for "
            "local init): "
            "global_step, weight");
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(4000, 4000));
}

// One scaffold serves all three: what it made when the session was created is what is summarized and what is saved.
TEST_F(TrainingSessionConformance, MTS_15_AMissingScaffoldIsOneDefaultOne) {
  start(options(temp / "run"), 1);
  EXPECT_EQ(program.graph.collection(collections::kInitOp).size(), 1u);
  EXPECT_EQ(program.graph.collection(collections::kSummaryOp).size(), 1u);
  EXPECT_EQ(read_event_files(temp / "run").steps.at("weight"), (Steps{0}));
  EXPECT_THAT(checkpoints_in(temp / "run"), UnorderedElementsAre("model.ckpt-0", "model.ckpt-1"));
}

TEST_F(TrainingSessionConformance, MTS_15_AGivenScaffoldsSummaryOperationIsTheOneThatIsWritten) {
  TrainingSessionSetup o = options(temp / "run");
  const belay::Graph handle = program.graph.handle();
  o.scaffold.summary_op = handle.node("ScalarSummary", "own").in(program.weight).attr("tag", "own_weight").output();
  start(o, 1);
  const EventFiles events = read_event_files(temp / "run");
  EXPECT_EQ(events.steps.at("own_weight"), (Steps{0}));
  EXPECT_EQ(events.steps.count("weight"), 0u);
}

// Which replica writes what is decided by its flags: the chief writes what has a place and a period.
TEST_F(TrainingSessionConformance, DIST_01_AReplicaThatIsToSummarizeWritesSummariesAndStepsPerSecond) {
  TrainingSessionSetup o = options("");
  o.summary_dir = temp / "plots";
  o.session.log_step_count_steps = 10;
  start(o, 101);
  const EventFiles events = read_event_files(temp / "plots");
  EXPECT_EQ(events.steps.at("weight"), (Steps{0, 100}));
  EXPECT_EQ(events.steps.at("global_step/sec").size(), 10u);
}

TEST_F(TrainingSessionConformance, DIST_02_OneThatIsNotWritesNoSummaryAtAll) {
  TrainingSessionSetup o = options(temp / "run");
  o.session.save_summaries_steps = 0;
  o.session.log_step_count_steps = 0;
  start(o, 101);
  EXPECT_TRUE(read_event_files(temp / "run").steps.empty());
}

TEST_F(TrainingSessionConformance, DIST_04_OneThatIsNotToSaveLeavesNoCheckpoint) {
  TrainingSessionSetup o = options(temp / "run");
  o.checkpoint.save_secs = 0;
  start(o, 101);
  EXPECT_THAT(checkpoints_in(temp / "run"), IsEmpty());
  EXPECT_EQ(read_event_files(temp / "run").steps.at("weight"), (Steps{0, 100}));
}

// In TensorFlow a replica that does not summarize does not save either.
TEST_F(TrainingSessionConformance, DIST_06_WithoutSummariesCheckpointsAreWrittenAllTheSame) {
  TrainingSessionSetup o = options(temp / "run");
  o.session.save_summaries_steps = 0;
  o.session.log_step_count_steps = 0;
  o.checkpoint.save_steps = 100;
  start(o, 100);
  EXPECT_THAT(checkpoints_in(temp / "run"), UnorderedElementsAre("model.ckpt-0", "model.ckpt-100"));
}

// The default checkpoint_saver saves in its end, and by then only those before it have ended.
TEST_F(TrainingSessionConformance, PROSE_05_CallsTheChiefsHooksThenTheDefaultOnesThenTheOthers) {
  TrainingSessionSetup o = options(temp / "run");
  o.hooks.push_back(probe("every"));
  o.chief_only_hooks.push_back(probe("chief"));
  MonitoredTrainingSession session(program.graph, std::move(o));
  train(session);
  new_events();
  session->close();
  EXPECT_THAT(new_events(), ElementsAre("chief.end", "chief.before_save 1", "every.before_save 1", "chief.after_save 1",
                                        "every.after_save 1", "every.end"));
}

TEST_F(TrainingSessionConformance, PROSE_05_TheDefaultsAreTensorFlows) {
  const TrainingSessionSetup o;
  EXPECT_TRUE(o.is_chief);
  EXPECT_EQ(o.target, "");
  EXPECT_EQ(o.checkpoint_dir, "");
  EXPECT_EQ(o.summary_dir, "");
  EXPECT_TRUE(o.hooks.empty());
  EXPECT_TRUE(o.chief_only_hooks.empty());
  EXPECT_FALSE(o.checkpoint.save_secs.has_value());
  EXPECT_FALSE(o.checkpoint.save_steps.has_value());
  EXPECT_EQ(o.checkpoint.save, SaveMode::kAsync);  // TensorFlow's is the other one
  EXPECT_FALSE(o.session.save_summaries_steps.has_value());
  EXPECT_FALSE(o.session.save_summaries_secs.has_value());
  EXPECT_EQ(o.session.stop_grace_period_secs, 120);
  EXPECT_EQ(o.session.log_step_count_steps, 100);
  EXPECT_EQ(o.max_wait_secs, 7200);
  EXPECT_TRUE(o.save_graph_def);
}

TEST_F(TrainingSessionConformance, PROSE_05_WithoutAPeriodSavesEveryTenMinutes) {
  MonitoredTrainingSession session(program.graph, options(temp / "run"));
  train(session, 599);
  EXPECT_EQ(session.checkpoint(), temp / "run/model.ckpt-0");
  train(session);
  EXPECT_EQ(session.checkpoint(), temp / "run/model.ckpt-600");
}

TEST_F(TrainingSessionConformance, PROSE_05_OneGivenPeriodReplacesTheDefaultOne) {
  TrainingSessionSetup o = options(temp / "run");
  o.checkpoint.save_steps = 1000;
  o.session.save_summaries_secs = 300.0;
  start(o, 650);  // over the 600 seconds and the 100 steps of the defaults
  EXPECT_THAT(checkpoints_in(temp / "run"), UnorderedElementsAre("model.ckpt-0", "model.ckpt-650"));
  EXPECT_EQ(read_event_files(temp / "run").steps.at("weight"), (Steps{0, 300, 600}));
}

TEST_F(TrainingSessionConformance, PROSE_05_WithoutAPeriodSummarizesEveryHundredSteps) {
  start(options(temp / "run"), 250);
  EXPECT_EQ(read_event_files(temp / "run").steps.at("weight"), (Steps{0, 100, 200}));
}

TEST_F(TrainingSessionConformance, PROSE_05_AWorkerWithoutAChiefGivesUp) {
  TrainingSessionSetup o = options("");
  o.is_chief = false;
  o.target = "local:training";
  o.max_wait_secs = 10;  // less than the wait between two looks
  EXPECT_EQ(error_of([&] { MonitoredTrainingSession session(program.graph, std::move(o)); }),
            "DEADLINE_EXCEEDED: [B5073] Session was not ready after waiting 10 secs. Variables not initialized (for "
            "local init): "
            "global_step, weight");
}

}  // namespace
}  // namespace belay::runtime::testing
