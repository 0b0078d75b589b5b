// SPDX-License-Identifier: Apache-2.0
// Several sessions on one store, and several threads on one session: what users ask for in section 29 about workers and
// threads, as far as one process goes.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "runtime/monitored/layers/monitored_session.h"
#include "runtime/monitored/layers/session_creator.h"
#include "tests/monitored/saver_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;

// One participant of a job: a graph with the job's global step, a train operation, and a queue that is not filled.
struct Participant {
  explicit Participant(const OpRegistry& ops) : graph(ops), g(graph.handle()) {
    step = ops::create_global_step(g);
    train_op = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1})));
    wait_op = ops::dequeue(ops::fifo_queue(g, 1, {{DType::kFloat32, {}}}, "empty"))[0];
  }
  NodeGraph graph;
  belay::Graph g;
  Output step, train_op, wait_op;
  HookSet no_hooks;
};

class SeveralSessions : public SaverTest {
 protected:
  std::unique_ptr<MonitoredSession> chief_session() {
    return std::make_unique<MonitoredSession>(
        std::make_shared<ChiefSessionCreator>(chief.graph, environment,
                                              ChiefSessionCreator::Options{.target = "local:job"}),
        environment, chief.no_hooks);
  }
  std::unique_ptr<MonitoredSession> worker_session() {
    return std::make_unique<MonitoredSession>(
        std::make_shared<WorkerSessionCreator>(worker.graph, environment,
                                               WorkerSessionCreator::Options{.target = "local:job"}),
        environment, worker.no_hooks);
  }
  static std::int64_t train(MonitoredSession& session, const Participant& p) {
    return session.run({p.train_op})[0].scalar<std::int64_t>();
  }

  Participant chief{*ops}, worker{*ops};
};

TEST_F(SeveralSessions, USER_14_OneThatEndsNeitherWaitsForTheOthersNorDisturbsThem) {
  auto of_chief = chief_session();
  auto of_worker = worker_session();
  std::string error;
  std::atomic<bool> waiting = false;
  std::thread blocked([&] {
    of_worker->scope([&] {
      waiting = true;
      of_worker->run({worker.wait_op});
    });
  });
  while (!waiting) std::this_thread::yield();
  // The chief ends while the worker waits for input that never comes.
  of_chief->scope([&] { EXPECT_EQ(train(*of_chief, chief), 1); });
  EXPECT_TRUE(of_chief->closed());
  EXPECT_FALSE(of_worker->raw_session()->closed());
  // And the worker's wait ends when its program ends it.
  of_worker->stop_now("the chief has ended");
  blocked.join();
  EXPECT_TRUE(of_worker->closed());
  EXPECT_EQ(of_worker->end_reason().text, "the chief has ended");
}

TEST_F(SeveralSessions, USER_14_AWorkerWhoseChiefIsGoneWaitsForABoundedTime) {
  chief_session()->close();  // and its store is gone with it
  WorkerSessionCreator late(worker.graph, environment, {.target = "local:job", .max_wait_secs = 90});
  EXPECT_EQ(error_of([&] { late.create_session(); }),
            "DEADLINE_EXCEEDED: [B5073] Session was not ready after waiting 90 secs. Variables not initialized (for "
            "local init): "
            "global_step");
  EXPECT_THAT(clock.new_waits_ms(), ElementsAre(30000, 30000, 30000));
}

TEST_F(SeveralSessions, USER_14_AClosingSessionWaitsForItsThreadsNoLongerThanTheGracePeriod) {
  std::atomic<bool> release = false;
  std::shared_ptr<Joinable> stubborn;
  auto coordinator = std::make_shared<Coordinator>(clock);
  stubborn = coordinator->start_thread("stubborn", [&] {
    while (!release) std::this_thread::yield();
  });
  chief.graph.finalize();
  auto raw = std::make_shared<DirectSession>(chief.graph, std::make_shared<VariableStore>(), environment.session);
  std::vector<std::string> unjoined;
  {
    auto session =
        std::make_unique<CoordinatedSession>(std::make_unique<RawLayer>(raw), coordinator, 0.001, *log, &unjoined);
    session->close();
  }
  EXPECT_THAT(unjoined, ElementsAre("stubborn"));
  EXPECT_TRUE(logged("threads are still running after the grace period: stubborn"));
  EXPECT_TRUE(raw->closed());
  release = true;
  EXPECT_TRUE(stubborn->join_for(10'000'000'000));
}

TEST_F(SeveralSessions, USER_15_WhenTheChiefLeavesFirstTheOthersGoOnAndTheirWorkCanBeSaved) {
  auto of_chief = chief_session();
  auto of_worker = worker_session();
  EXPECT_EQ(train(*of_chief, chief), 1);
  of_chief->close();
  EXPECT_EQ(train(*of_worker, worker), 2);
  EXPECT_EQ(train(*of_worker, worker), 3);
  // The variables are the store's, not the chief's: any session of the program may save them.
  const std::shared_ptr<RunSaver> saver = make_saver();
  saver->request();
  saver->at_boundary(*of_worker->raw_session(), hooks);
  of_worker->close();
  EXPECT_THAT(checkpoints(), ElementsAre("model.ckpt-3"));
}

TEST_F(SeveralSessions, PROSE_25_AQueueWithoutAnOrderIsToldWhenASessionThatSavesStarts) {
  ops::random_shuffle_queue(chief.g, 8, 2, {{DType::kInt64, {}}}, 1, "shuffled");
  const std::shared_ptr<RunSaver> saver = make_saver();
  MonitoredSessionOptions options;
  options.saver = saver.get();
  MonitoredSession session(
      std::make_shared<ChiefSessionCreator>(chief.graph, environment, ChiefSessionCreator::Options{}), environment,
      chief.no_hooks, std::move(options));
  EXPECT_TRUE(
      logged("a run that continues from a checkpoint of this one will see its input in another order: 'shuffled' "
             "is a random-shuffle queue"));
}

// Counts who is between a hook's before_run and after_run.
struct Inside {
  std::atomic<int> now = 0, most = 0;
  void enter() { most = std::max(most.load(), ++now); }
  void leave() { --now; }
};

TEST_F(SeveralSessions, USER_23_RunsWithHooksComeOneAfterTheOtherWhoeverCallsThem) {
  Inside inside;
  Probe& probe = add_probe("probe");
  probe.in["before_run"] = [&] { inside.enter(); };
  probe.in["after_run"] = [&] { inside.leave(); };
  MonitoredSession session(
      std::make_shared<ChiefSessionCreator>(chief.graph, environment, ChiefSessionCreator::Options{}), environment,
      hooks);
  session.scope([&] {
    std::vector<std::thread> callers;
    for (int t = 0; t < 4; ++t)
      callers.emplace_back([&] {
        for (int i = 0; i < 25; ++i) train(session, chief);
      });
    for (std::thread& t : callers) t.join();
    EXPECT_EQ(session.raw_session()->global_step(), 100);
  });
  EXPECT_EQ(inside.most, 1);
}

TEST_F(SeveralSessions, USER_23_RawRunsGoOnBesideOneWithHooks) {
  Probe& probe = add_probe("probe");
  std::shared_ptr<DirectSession> raw;
  std::int64_t seen = -1;
  // While the session is inside a hook another thread runs the raw session to its end.
  probe.in["after_run"] = [&] {
    std::thread([&] { seen = raw->handle().run({chief.step})[0].scalar<std::int64_t>(); }).join();
  };
  MonitoredSession session(
      std::make_shared<ChiefSessionCreator>(chief.graph, environment, ChiefSessionCreator::Options{}), environment,
      hooks);
  raw = session.raw_session();
  session.scope([&] { train(session, chief); });
  EXPECT_EQ(seen, 1);
  raw = nullptr;
}

// A hook with its own thread, which reads the session while that trains.
class Sampler final : public Hook {
 public:
  explicit Sampler(std::atomic<std::int64_t>& samples) : samples_(samples) {}
  ~Sampler() override { stop(); }
  void begin(Graph& graph) override { step_ = graph.global_step(); }
  void after_create_session(Session& session) override {
    stop();
    done_ = false;
    thread_ = std::thread([this, session]() mutable {
      std::int64_t last = 0;
      while (!done_) {
        const std::int64_t step = session.run({step_})[0].scalar<std::int64_t>();
        EXPECT_GE(step, last);
        last = step;
        ++samples_;
      }
    });
  }
  void end(Session&) override { stop(); }

 private:
  void stop() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::atomic<std::int64_t>& samples_;
  Fetch<std::int64_t> step_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

TEST_F(SeveralSessions, USER_23_AHookMayHaveAThreadOfItsOwn) {
  std::atomic<std::int64_t> samples = 0;
  add_hook("sampler", std::make_unique<Sampler>(samples));
  MonitoredSession session(
      std::make_shared<ChiefSessionCreator>(chief.graph, environment, ChiefSessionCreator::Options{}), environment,
      hooks);
  session.scope([&] {
    while (samples < 20) train(session, chief);
  });
  EXPECT_GE(samples, 20);
}

// Raw runs that write, and a snapshot, all at once: each snapshot is of one moment.
TEST_F(SeveralSessions, USER_23_ASnapshotDuringConcurrentRawRunsIsOfOneMoment) {
  const Output twin = ops::variable(chief.g, "twin", Tensor(std::int64_t{0}), ops::VariableKind::kGlobal);
  const Output both = ops::group(
      chief.g, {chief.train_op, ops::assign_add(twin, ops::constant(chief.g, Tensor(std::int64_t{1})))}, "both");
  add_probe("probe");
  MonitoredSession session(
      std::make_shared<ChiefSessionCreator>(chief.graph, environment, ChiefSessionCreator::Options{}), environment,
      hooks);
  const std::shared_ptr<DirectSession> raw = session.raw_session();
  std::atomic<bool> done = false;
  std::vector<std::thread> writers;
  for (int t = 0; t < 2; ++t)
    writers.emplace_back([&] {
      while (!done) raw->handle().run({both});
    });
  Snapshot snapshot;
  for (int i = 0; i < 200; ++i) {
    session.run({both});
    raw->store().snapshot(raw->variables(), snapshot);
    ASSERT_EQ(snapshot.names, (std::vector<std::string>{"global_step", "twin"}));
    EXPECT_EQ(*snapshot.values[0].data<std::int64_t>(), *snapshot.values[1].data<std::int64_t>());
  }
  done = true;
  for (std::thread& t : writers) t.join();
  session.close();
}

}  // namespace
}  // namespace belay::runtime::testing
