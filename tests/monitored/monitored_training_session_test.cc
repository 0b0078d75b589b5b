#include "runtime/monitored/monitored_training_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "belay/ops/summaries.h"
#include "plugins/default_plugins.h"
#include "runtime/checkpoint/run_lock.h"
#include "tests/monitored/event_files.h"
#include "tests/monitored/monitored_fixture.h"
#include "tests/platform/faulty_file_system.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Steps = std::vector<std::int64_t>;
constexpr std::int64_t kSecond = 1'000'000'000;

// A program's graph: a counter, a variable that goes with it, and a summary.
struct Program {
  explicit Program(const OpRegistry& ops) : graph(ops) {
    const belay::Graph g = graph.handle();
    step = ops::create_global_step(g);
    weight = ops::variable(g, "weight", Tensor(1.0f));
    ops::scalar_summary("weight", weight);
    const auto after = g.after({ops::assign_add(weight, ops::constant(g, Tensor(0.5f)))});
    train = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1})));
  }
  NodeGraph graph;
  Output step, weight, train;
};

class TrainingSession : public MonitoredTest {
 protected:
  TrainingSession() : program(*ops) {}

  TrainingSessionOptions options(const std::string& checkpoint_dir) {
    TrainingSessionOptions o;
    o.plugins = default_plugins();
    o.checkpoint_dir = checkpoint_dir;
    o.threads = 1;
    o.log = log.get();
    o.clock = &clock;
    return o;
  }
  OwnHook probe(const std::string& name) { return own_hook(name, std::make_unique<Probe>(name, timeline)); }

  std::int64_t step_of(MonitoredTrainingSession& session) {
    return session->run({program.step})[0].scalar<std::int64_t>();
  }
  // A second passes with each step.
  std::int64_t train(MonitoredTrainingSession& session, int steps = 1) {
    std::int64_t step = -1;
    for (int i = 0; i < steps; ++i) {
      clock.advance(kSecond);
      step = session->run({program.train})[0].scalar<std::int64_t>();
    }
    return step;
  }
  // One start of the program: how far it is before and after so many steps.
  std::pair<std::int64_t, std::int64_t> start(TrainingSessionOptions o, int steps) {
    MonitoredTrainingSession session(program.graph, std::move(o));
    std::pair<std::int64_t, std::int64_t> out;
    session->scope([&] {
      out.first = step_of(session);
      if (steps > 0) train(session, steps);
      out.second = step_of(session);
    });
    return out;
  }
  std::vector<std::string> checkpoints_in(const std::string& path) {
    std::vector<std::string> names;
    for (const std::string& name : posix_file_system().open_directory(path)->entries())
      if (name.starts_with("model.ckpt")) names.push_back(name);
    return names;
  }

  Program program;
  TempDir temp;
};

TEST_F(TrainingSession, ASecondOneOnTheDirectoryGoesOnWhereTheFirstOneStopped) {
  EXPECT_EQ(start(options(temp / "run"), 2), std::pair(std::int64_t{0}, std::int64_t{2}));
  EXPECT_EQ(checkpoints_in(temp / "run"), (std::vector<std::string>{"model.ckpt-0", "model.ckpt-2"}));
  Program again(*ops);
  MonitoredTrainingSession session(again.graph, options(temp / "run"));
  EXPECT_TRUE(session->restored());
  EXPECT_EQ(session.checkpoint(), temp / "run/model.ckpt-2");
  const FetchedValues values = session->run({again.step, again.weight});
  EXPECT_EQ(values[0].scalar<std::int64_t>(), 2);
  EXPECT_EQ(values[1].scalar<float>(), 2.0f);
}

TEST_F(TrainingSession, SavesAfterEachPeriodOfStepsAndAtTheEnd) {
  TrainingSessionOptions o = options(temp / "run");
  o.checkpoint.save_steps = 4;
  EXPECT_EQ(start(o, 10).second, 10);
  EXPECT_THAT(checkpoints_in(temp / "run"),
              ElementsAre("model.ckpt-0", "model.ckpt-10", "model.ckpt-4", "model.ckpt-8"));
  EXPECT_EQ(start(o, 0).first, 10);
}

TEST_F(TrainingSession, SavesAfterEachPeriodOfSecondsAndAtTheEnd) {
  TrainingSessionOptions o = options(temp / "run");
  o.checkpoint.save_secs = 5.0;
  EXPECT_EQ(start(o, 11).second, 11);
  EXPECT_THAT(checkpoints_in(temp / "run"),
              ElementsAre("model.ckpt-0", "model.ckpt-10", "model.ckpt-11", "model.ckpt-5"));
  EXPECT_EQ(start(o, 0).first, 11);
}

// TensorFlow's raises an error.
TEST_F(TrainingSession, OfTwoPeriodsTheOneThatEndsFirstSaves) {
  TrainingSessionOptions o = options(temp / "run");
  o.checkpoint.save_steps = 3;
  o.checkpoint.save_secs = 5.0;
  MonitoredTrainingSession session(program.graph, std::move(o));
  train(session, 3);
  EXPECT_EQ(session.checkpoint(), temp / "run/model.ckpt-3");
  clock.advance(10 * kSecond);
  train(session);
  EXPECT_EQ(session.checkpoint(), temp / "run/model.ckpt-4");
}

TEST_F(TrainingSession, WithoutAPeriodSavesEveryTenMinutes) {
  MonitoredTrainingSession session(program.graph, options(temp / "run"));
  train(session, 599);
  EXPECT_EQ(session.checkpoint(), temp / "run/model.ckpt-0");
  train(session);
  EXPECT_EQ(session.checkpoint(), temp / "run/model.ckpt-600");
}

TEST_F(TrainingSession, APeriodOfZeroSavesNothing) {
  TrainingSessionOptions o = options(temp / "run");
  o.checkpoint.save_secs = 0;
  o.chief_only_hooks.push_back(probe("own_saver"));
  EXPECT_EQ(start(o, 3).second, 3);
  EXPECT_EQ(std::count(timeline.begin(), timeline.end(), "own_saver.begin"), 1);
  EXPECT_THAT(checkpoints_in(temp / "run"), IsEmpty());
  TrainingSessionOptions second = options(temp / "run");
  EXPECT_EQ(start(second, 0).first, 0);
}

TEST_F(TrainingSession, KeepsAsManyCheckpointsAsItIsTold) {
  TrainingSessionOptions o = options(temp / "run");
  o.checkpoint.save_steps = 1;
  o.checkpoint.max_to_keep = 2;
  start(o, 6);
  EXPECT_THAT(checkpoints_in(temp / "run"), ElementsAre("model.ckpt-5", "model.ckpt-6"));
}

TEST_F(TrainingSession, WritesSummariesAndStepsPerSecond) {
  TrainingSessionOptions o = options(temp / "run");
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
  TrainingSessionOptions o = options(temp / "run");
  o.session.save_summaries_secs = 3.0;
  start(o, 8);
  EXPECT_EQ(read_event_files(temp / "run").steps.at("weight"), (Steps{0, 3, 6}));
}

TEST_F(TrainingSession, WritesTheSummaryOperationOfTheScaffold) {
  TrainingSessionOptions o = options(temp / "run");
  const belay::Graph handle = program.graph.handle();
  o.scaffold.summary_op = handle.node("ScalarSummary", "own").in(program.weight).attr("tag", "own_weight").output();
  start(o, 1);
  const EventFiles events = read_event_files(temp / "run");
  EXPECT_EQ(events.steps.at("own_weight"), (Steps{0}));
  EXPECT_EQ(events.steps.count("weight"), 0u);
}

TEST_F(TrainingSession, SummariesAndStepCountsAreSwitchedOffByZero) {
  TrainingSessionOptions o = options(temp / "run");
  o.session.save_summaries_steps = 0;
  o.session.log_step_count_steps = 0;
  start(o, 300);
  EXPECT_TRUE(read_event_files(temp / "run").steps.empty());
}

TEST_F(TrainingSession, ASummaryDirectoryOfItsOwnGetsTheEvents) {
  TrainingSessionOptions o = options(temp / "run");
  o.summary_dir = temp / "plots";
  start(o, 1);
  EXPECT_EQ(read_event_files(temp / "run").files, 0);
  EXPECT_EQ(read_event_files(temp / "plots").steps.at("weight"), (Steps{0}));
  EXPECT_THAT(checkpoints_in(temp / "plots"), IsEmpty());
}

TEST_F(TrainingSession, ASummaryDirectoryNeedsNoCheckpoints) {
  TrainingSessionOptions o = options("");
  o.summary_dir = temp / "plots";
  start(o, 1);
  EXPECT_EQ(read_event_files(temp / "plots").steps.at("weight"), (Steps{0}));
  EXPECT_THAT(checkpoints_in(temp / "plots"), IsEmpty());
}

TEST_F(TrainingSession, TheGraphIsLeftOutOfTheEventsWhereItIsNotWanted) {
  TrainingSessionOptions o = options(temp / "run");
  o.save_graph_def = false;
  start(o, 1);
  EXPECT_EQ(read_event_files(temp / "run").graphs, 0);
}

TEST_F(TrainingSession, WithoutADirectoryNothingIsOnDisk) {
  FaultyFileSystem files(posix_file_system());
  TrainingSessionOptions o = options("");
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

// The default checkpoint_saver saves in its end, and by then only those before it have ended.
TEST_F(TrainingSession, CallsTheChiefsHooksThenTheDefaultOnesThenTheOthers) {
  TrainingSessionOptions o = options(temp / "run");
  o.hooks.push_back(probe("every"));
  o.chief_only_hooks.push_back(probe("chief"));
  MonitoredTrainingSession session(program.graph, std::move(o));
  train(session);
  new_events();
  session->close();
  EXPECT_THAT(new_events(), ElementsAre("chief.end", "chief.before_save 1", "every.before_save 1", "chief.after_save 1",
                                        "every.after_save 1", "every.end"));
}

TEST_F(TrainingSession, AWorkerSharesTheChiefsVariablesAndKeepsNothing) {
  const auto shared = std::make_shared<StoreTargets>();
  TrainingSessionOptions of_chief = options(temp / "run");
  of_chief.target = "local:training";
  of_chief.targets = shared;
  of_chief.checkpoint.save_steps = 1;
  MonitoredTrainingSession chief(program.graph, std::move(of_chief));
  train(chief, 3);

  Program other(*ops);
  TrainingSessionOptions of_worker = options(temp / "worker");
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

TEST_F(TrainingSession, AWorkerWithoutAChiefGivesUp) {
  TrainingSessionOptions o = options("");
  o.is_chief = false;
  o.target = "local:training";
  o.max_wait_secs = 10;  // less than the wait between two looks
  EXPECT_EQ(
      error_of([&] { MonitoredTrainingSession session(program.graph, std::move(o)); }),
      "DEADLINE_EXCEEDED: Session was not ready after waiting 10 secs. Variables not initialized (for local init): "
      "global_step, weight");
}

TEST_F(TrainingSession, RecoversFromTheLastCheckpointAndSaysSo) {
  TrainingSessionOptions o = options(temp / "run");
  o.checkpoint.save_steps = 2;
  auto hook = std::make_unique<Probe>("probe", timeline);
  Probe& failing = *hook;
  o.hooks.push_back(own_hook("probe", std::move(hook)));
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

TEST_F(TrainingSession, TheInitFunctionOfTheScaffoldRunsWhereNothingIsRestored) {
  int calls = 0;
  TrainingSessionOptions o = options(temp / "run");
  o.scaffold.init_fn = [&](const Scaffold&, DirectSession& session) {
    ++calls;
    session.store().assign("weight", Tensor(7.0f));
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
    auto hook = std::make_unique<Probe>("probe", timeline);
    Probe& kept = *hook;
    TrainingSessionOptions o = options(temp / "run");
    o.hooks.push_back(own_hook("probe", std::move(hook)));
    MonitoredTrainingSession session(program.graph, std::move(o));
    EXPECT_EQ(kept.state, state == 5 ? 0 : 5);
    kept.state = state;
    train(session);
    session->close();
  }
}

TEST_F(TrainingSession, ADirectoryBelongsToOneSession) {
  MonitoredTrainingSession first(program.graph, options(temp / "run"));
  Program other(*ops);
  try {
    MonitoredTrainingSession second(other.graph, options(temp / "run"));
    FAIL() << "two sessions in one directory";
  } catch (const RunInUse& e) {
    EXPECT_THAT(e.what(), HasSubstr("the run directory '" + temp / "run" + "' is in use by another run (host "));
  }
}

TEST_F(TrainingSession, APluginThatIsNotGivenIsNamed) {
  TrainingSessionOptions o = options(temp / "run");
  o.plugins.clear();
  EXPECT_EQ(
      error_of([&] { MonitoredTrainingSession session(program.graph, std::move(o)); }),
      "NOT_FOUND: there is no saver \"safetensors\" among the session's plugins: give it belay::default_plugins()");
  TrainingSessionOptions wrong = options(temp / "run");
  wrong.saver = "parchment";
  EXPECT_EQ(error_of([&] { MonitoredTrainingSession session(program.graph, std::move(wrong)); }),
            "NOT_FOUND: there is no saver \"parchment\" among the session's plugins: give it belay::default_plugins()");
}

TEST_F(TrainingSession, ARestartWithOtherThreadsOrSeedIsAWarning) {
  start(options(temp / "run"), 1);
  TrainingSessionOptions o = options(temp / "run");
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
