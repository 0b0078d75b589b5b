// SPDX-License-Identifier: Apache-2.0
// Section 27: the older way to run a session. Its services are in supervisor_services_test.cc.
#include "runtime/monitored/supervisor/supervisor.h"

#include <limits>

#include "belay/ops/random.h"
#include "tests/conformance/supervisor_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// ---- sessions ----

TEST_F(SupervisorConformance, SUP_01_PrepareUseCloseStop) {
  const Output n = number("n", 4);
  Supervisor supervisor(graph, timed);
  const std::shared_ptr<DirectSession> session = supervisor.prepare_or_wait_for_session();
  EXPECT_EQ(value(*session, n), 4);
  session->close();
  supervisor.stop();
  EXPECT_TRUE(supervisor.should_stop());
}

TEST_F(SupervisorConformance, SUP_02_AfterAManagedSessionItShouldStop) {
  const Output n = number("n", 4);
  Supervisor supervisor(graph, timed);
  std::shared_ptr<DirectSession> kept;
  supervisor.managed_session([&](DirectSession& session) {
    EXPECT_FALSE(supervisor.should_stop());
    EXPECT_EQ(value(session, n), 4);
    kept = session.shared_from_this();
  });
  EXPECT_TRUE(supervisor.should_stop());
  EXPECT_TRUE(kept->closed());
}

TEST_F(SupervisorConformance, SUP_05_EachManagedSessionHasAnEventFile) {
  const Output summary = ops::scalar_summary("c", ops::constant(g, Tensor(3.0f)));
  SupervisorSetup options;
  options.logdir = logdir;
  options.summary_op = Output();
  Supervisor supervisor(graph, timed, options);
  for (int i = 0; i < 2; ++i)
    supervisor.managed_session(
        [&](DirectSession& session) {
          supervisor.summary_computed(session, session.handle().run({summary})[0].text(0));
        },
        {.start_standard_services = false});
  const std::vector<std::string> file{"version", "graph", "c=3@0", "STOP"};
  EXPECT_THAT(events(), ElementsAre(file, file));
}

TEST_F(SupervisorConformance, SUP_05_OrOneFileServesThemAllWhereItIsKeptOpen) {
  const Output summary = ops::scalar_summary("c", ops::constant(g, Tensor(3.0f)));
  SupervisorSetup options;
  options.logdir = logdir;
  options.summary_op = Output();
  {
    Supervisor supervisor(graph, timed, options);
    for (int i = 0; i < 2; ++i)
      supervisor.managed_session(
          [&](DirectSession& session) {
            supervisor.summary_computed(session, session.handle().run({summary})[0].text(0), 5 + i);
          },
          {.start_standard_services = false, .close_summary_writer = false});
  }
  EXPECT_THAT(events(), ElementsAre(ElementsAre("version", "graph", "c=3@5", "c=3@6", "STOP")));
}

TEST_F(SupervisorConformance, SUP_07_TheEndOfItsInputEndsTheLoopWithoutError) {
  const Output next = add_input("input", 3);
  Supervisor supervisor(graph, timed);
  std::vector<std::int64_t> seen;
  supervisor.managed_session([&](DirectSession& session) {
    while (!supervisor.should_stop()) seen.push_back(value(session, next));
  });
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
  EXPECT_THAT(supervisor.coordinator().stop_reason(), HasSubstr("is closed and has insufficient elements"));
}

TEST_F(SupervisorConformance, SUP_08_TheEndPassesThroughTwoQueues) {
  const Output next = add_chained_input(3);
  Supervisor supervisor(graph, timed);
  std::vector<std::int64_t> seen;
  supervisor.managed_session([&](DirectSession& session) {
    while (!supervisor.should_stop()) seen.push_back(value(session, next));
  });
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
}

TEST_F(SupervisorConformance, SUP_09_AnErrorOfTheLoopComesOutWhileTheQueuesAreBeingFilled) {
  const Output next = add_chained_input(1000);
  Supervisor supervisor(graph, timed);
  EXPECT_EQ(error_of([&] {
              supervisor.managed_session([&](DirectSession& session) {
                for (int i = 1; !supervisor.should_stop(); ++i) {
                  value(session, next);
                  if (i == 3) fail(Code::kInternal, "at step 3");
                }
              });
            }),
            "INTERNAL: at step 3");
}

TEST_F(SupervisorConformance, SUP_10_TheSettingsOfSessionsReachTheSession) {
  // A session's settings decide this, and TensorFlow's devices do not: the random numbers' seed.
  const Output random = ops::random_uniform(g, {}, 0, 1, DType::kFloat32, "noise");
  const auto drawn = [&](std::uint64_t seed) {
    timed.session.seed = seed;
    Supervisor supervisor(graph, timed);
    return supervisor.prepare_or_wait_for_session()->handle().run({random})[0].scalar<float>();
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

// ---- the chief, and others ----

TEST_F(SupervisorConformance, SUP_11_AChiefsEventFileHasItsSummaryAndNothingElse) {
  const Output summary = ops::scalar_summary("c", ops::constant(g, Tensor(3.0f)));
  SupervisorSetup options;
  options.logdir = logdir;
  options.summary_op = Output();
  Supervisor supervisor(graph, timed, options);
  const auto session = supervisor.prepare_or_wait_for_session();
  supervisor.summary_computed(*session, session->handle().run({summary})[0].text(0));
  session->close();
  supervisor.stop();
  EXPECT_THAT(events(), ElementsAre(ElementsAre("version", "graph", "c=3@0", "STOP")));
}

TEST_F(SupervisorConformance, SUP_12_OnlyTheChiefWrites) {
  const Output summary = ops::scalar_summary("c", ops::constant(g, Tensor(3.0f)));
  SupervisorSetup options = with_logdir();
  options.is_chief = false;
  Supervisor supervisor(graph, timed, options);
  const auto session = supervisor.prepare_or_wait_for_session();
  EXPECT_EQ(error_of([&] { supervisor.summary_computed(*session, session->handle().run({summary})[0].text(0)); }),
            "FAILED_PRECONDITION: [B5089] Writing a summary requires a summary writer, and only the chief has one");
  EXPECT_EQ(
      error_of([&] { supervisor.start_standard_services(session); }),
      "FAILED_PRECONDITION: [B5089] Only the chief starts the standard services; this supervisor has is_chief = false");
  supervisor.stop();
  EXPECT_FALSE(posix_file_system().exists(logdir));
}

TEST_F(SupervisorConformance, SUP_14_WithoutEventsCheckpointsAreWrittenAllTheSame) {
  const Output summary = ops::scalar_summary("c", ops::constant(g, Tensor(3.0f)));
  global_step(7);
  SupervisorSetup options = with_logdir();
  options.writes_events = false;
  Supervisor supervisor(graph, timed, options);
  const auto session = supervisor.prepare_or_wait_for_session();
  EXPECT_EQ(error_of([&] { supervisor.summary_computed(*session, session->handle().run({summary})[0].text(0)); }),
            "FAILED_PRECONDITION: [B5089] Writing a summary requires a summary writer, and none is open");
  supervisor.stop();
  EXPECT_THAT(saved(), ElementsAre("model.ckpt-7"));
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(SupervisorConformance, SUP_18_TheDefaultInitOperationInitializes) {
  const Output n = number("n", 4);
  const Output own = number("own", 5, ops::VariableKind::kLocal);
  Supervisor supervisor(graph, timed);
  const auto session = supervisor.prepare_or_wait_for_session();
  EXPECT_EQ(value(*session, n), 4);
  EXPECT_EQ(value(*session, own), 5);
}

TEST_F(SupervisorConformance, SUP_19_AnInitFunctionMayDoWithoutTheInitOperation) {
  const Output n = number("n", 4);
  SupervisorSetup options;
  options.init_op = Output();
  options.init_fn = [](Session& session) { session.assign("n", Tensor(std::int64_t{9})); };
  Supervisor supervisor(graph, timed, options);
  EXPECT_FALSE(supervisor.init_op());
  EXPECT_EQ(value(*supervisor.prepare_or_wait_for_session(), n), 9);
}

TEST_F(SupervisorConformance, SUP_20_TheInitOperationGetsItsFeeds) {
  const Output n = number("n", 4);
  const Output x = ops::placeholder(g, DType::kInt64, {}, "x");
  SupervisorSetup options;
  options.init_op = ops::group(g, {ops::assign(n, x)}, "init_from_feed");
  options.init_feeds = {{x, Tensor(std::int64_t{11})}};
  Supervisor supervisor(graph, timed, options);
  EXPECT_EQ(value(*supervisor.prepare_or_wait_for_session(), n), 11);
}

// A chief and a worker on one store, each with a graph and a local variable that is made of the shared one.
class TwoSupervisors : public SupervisorConformance {
 protected:
  struct Side {
    explicit Side(const OpRegistry& ops) : graph(ops), g(graph.handle()) {
      v = ops::variable(g, "v", Tensor(std::int64_t{1}), ops::VariableKind::kGlobal);
      w = ops::variable(g, "w", Tensor(std::int64_t{0}), ops::VariableKind::kLocal);
      increment = ops::assign_add(v, ops::constant(g, Tensor(std::int64_t{1})));
      pieces.ready_for_local_init_op = ops::report_uninitialized_variables(g, {v}, "v_ready");
      pieces.ready_op = ops::report_uninitialized_variables(g, {v, w}, "both_ready");
      pieces.local_init_op = ops::group(g, {ops::assign(w, v)}, "w_from_v");
    }
    NodeGraph graph;
    belay::Graph g;
    Output v, w, increment;
    SupervisorSetup pieces;
  };
  void expect_shared(std::int64_t at_start) {
    Supervisor chief(first.graph, timed, first.pieces);
    const auto of_chief = chief.prepare_or_wait_for_session({.target = "local:job"});
    second.pieces.is_chief = false;
    Supervisor worker(second.graph, timed, second.pieces);
    const auto of_worker = worker.prepare_or_wait_for_session({.target = "local:job"});
    EXPECT_EQ(value(*of_chief, first.w), at_start);
    EXPECT_EQ(value(*of_worker, second.increment), at_start + 1);
    EXPECT_EQ(value(*of_worker, second.w), at_start);
    EXPECT_EQ(value(*of_chief, first.v), at_start + 1);
    chief.stop();
    worker.stop();
  }
  Side first{*ops}, second{*ops};
};

TEST_F(TwoSupervisors, SUP_21_ChiefAndWorkerShareWhatIsGlobalAndEachHasItsLocals) { expect_shared(1); }

TEST_F(TwoSupervisors, SUP_22_TheSameFromACheckpoint) {
  {
    Side earlier(*ops);
    earlier.pieces.logdir = logdir;
    earlier.pieces.run_saver = saver();
    Supervisor supervisor(earlier.graph, timed, earlier.pieces);
    const auto session = supervisor.prepare_or_wait_for_session({.start_standard_services = false});
    session->store().assign("v", Tensor(std::int64_t{10}));
    supervisor.start_standard_services(session);  // the checkpoint service saves at once
    supervisor.stop();
  }
  first.pieces.logdir = logdir;
  first.pieces.run_saver = saver();
  expect_shared(10);
}

TEST_F(SupervisorConformance, SUP_24_AWorkerRunsLocalInitAndNoInitOperation) {
  const Output own = number("own", 5, ops::VariableKind::kLocal);
  SupervisorSetup options;
  options.is_chief = false;
  options.init_op = Output();
  Supervisor supervisor(graph, timed, options);
  EXPECT_EQ(value(*supervisor.prepare_or_wait_for_session(), own), 5);
}

TEST_F(SupervisorConformance, SUP_26_AVariableThatInitMissesIsNamed) {
  number("n", 4);
  number("own", 5, ops::VariableKind::kLocal);
  SupervisorSetup options;
  options.local_init_op = ops::group(g, {}, "nothing");
  Supervisor misses_local(graph, timed, options);
  EXPECT_EQ(error_of([&] { misses_local.prepare_or_wait_for_session(); }),
            "FAILED_PRECONDITION: [B5073] Init operations did not make model ready. Variables not initialized (of the "
            "model): own");
  NodeGraph other(*ops);
  ops::variable(other.handle(), "n", Tensor(std::int64_t{4}));
  SupervisorSetup without;
  without.init_op = ops::group(other.handle(), {}, "nothing");
  Supervisor misses_global(other, timed, without);
  EXPECT_EQ(error_of([&] { misses_global.prepare_or_wait_for_session(); }),
            "FAILED_PRECONDITION: [B5073] Init operations did not make model ready. Variables not initialized (of the "
            "model): n");
}

TEST_F(SupervisorConformance, SUP_28_AVariableNamedGlobalStepIsTheGlobalStep) {
  const Output step = number("global_step", 3);
  SupervisorSetup options = with_logdir();
  Supervisor supervisor(graph, timed, options);
  EXPECT_EQ(supervisor.global_step().name(), step.name());
  supervisor.managed_session([](DirectSession& session) { EXPECT_EQ(session.global_step(), 3); });
  EXPECT_THAT(saved(), ElementsAre("model.ckpt-3"));
  // A variable of that name that counts no steps is none.
  NodeGraph other(*ops);
  ops::variable(other.handle(), "global_step", Tensor(1.0f));
  EXPECT_FALSE(Supervisor(other, timed).global_step());
}

TEST_F(SupervisorConformance, SUP_32_AGraphWithoutQueueRunnersStartsNone) {
  number("n", 4);
  Supervisor supervisor(graph, timed);
  const auto session = supervisor.prepare_or_wait_for_session();
  EXPECT_THAT(supervisor.start_queue_runners(*session), IsEmpty());
}

TEST_F(SupervisorConformance, SUP_33_APrepareAfterAStopForgetsIt) {
  const Output n = number("n", 4);
  Supervisor supervisor(graph, timed);
  for (int i = 0; i < 2; ++i) {
    const auto session = supervisor.prepare_or_wait_for_session();
    EXPECT_FALSE(supervisor.should_stop());
    EXPECT_EQ(value(*session, n), 4);
    supervisor.stop();
    EXPECT_TRUE(supervisor.should_stop());
  }
}

TEST_F(SupervisorConformance, SUP_34_TheSameForAWorker) {
  number("own", 5, ops::VariableKind::kLocal);
  SupervisorSetup options;
  options.is_chief = false;
  Supervisor supervisor(graph, timed, options);
  for (int i = 0; i < 2; ++i) {
    supervisor.prepare_or_wait_for_session();
    EXPECT_FALSE(supervisor.should_stop());
    supervisor.stop();
    EXPECT_TRUE(supervisor.should_stop());
  }
}

TEST_F(SupervisorConformance, SUP_35_ItDoesNotRecoverItsCallerLoops) {
  const Output n = number("n", 4);
  Supervisor supervisor(graph, timed);
  int attempts = 0;
  std::vector<std::string> errors;
  while (attempts < 3)
    errors.push_back(error_of([&] {
      supervisor.managed_session([&](DirectSession& session) {
        value(session, n);
        if (++attempts < 3) fail(Code::kAborted, "a peer is gone");
      });
    }));
  EXPECT_THAT(errors, ElementsAre("ABORTED: a peer is gone", "ABORTED: a peer is gone", "no error"));
}

TEST_F(SupervisorConformance, SUP_37_TheFirstOfSeveralCandidatesIsUsed) {
  const Output first = ops::group(g, {}, "first");
  const Output second = ops::group(g, {}, "second");
  for (const Output& op : {first, second}) g.collect(collections::kReadyOp, op);
  number("n", 4);
  Supervisor supervisor(graph, timed);
  EXPECT_EQ(supervisor.ready_op().name(), "first");
  EXPECT_TRUE(logged("the graph's collection 'ready_op' has 2 items; the first one, 'first', is used"));
  EXPECT_FALSE(supervisor.ready_for_local_init_op());
  EXPECT_TRUE(supervisor.init_op());
  EXPECT_TRUE(supervisor.local_init_op());
  EXPECT_FALSE(supervisor.summary_op());
  EXPECT_EQ(supervisor.saver(), nullptr);
}

TEST_F(SupervisorConformance, SUP_37_ASaverIsMadeOnlyWhereThereIsSomethingToSave) {
  number("own", 5, ops::VariableKind::kLocal);
  EXPECT_EQ(Supervisor(graph, timed, with_logdir()).saver(), nullptr);
  NodeGraph other(*ops);
  ops::variable(other.handle(), "n", Tensor(std::int64_t{4}));
  EXPECT_NE(Supervisor(other, timed, with_logdir()).saver(), nullptr);
}

// ---- arguments, defaults, order ----

TEST_F(SupervisorConformance, PROSE_27_TheDefaultsAreTensorFlows) {
  const SupervisorSetup options;
  EXPECT_TRUE(options.is_chief);
  EXPECT_EQ(options.save_summaries_secs, 120);
  EXPECT_EQ(options.save_model_secs, 600);
  EXPECT_EQ(options.recovery_wait_secs, 30);
  EXPECT_EQ(options.stop_grace_secs, 120);
  EXPECT_EQ(Supervisor::PrepareOptions().max_wait_secs, 7200);
  EXPECT_FALSE(Supervisor::PrepareOptions().wait_for_checkpoint);
  EXPECT_TRUE(Supervisor::PrepareOptions().start_standard_services);
  EXPECT_TRUE(Supervisor::ManagedOptions().start_standard_services);
  EXPECT_TRUE(Supervisor::ManagedOptions().close_summary_writer);
}

TEST_F(SupervisorConformance, PROSE_27_TheConstructorFreezesTheGraph) {
  number("n", 4);
  Supervisor supervisor(graph, timed);
  EXPECT_EQ(error_of([&] { ops::constant(g, Tensor(1.0f), "late"); }),
            "FAILED_PRECONDITION: Graph is finalized and cannot be modified: node 'late' (Const) was added after the "
            "session was "
            "made; add it in begin(), or before the session");
}

TEST_F(SupervisorConformance, PROSE_27_APeriodIsNotNegative) {
  SupervisorSetup options;
  options.save_model_secs = -1;
  EXPECT_EQ(error_of([&] { Supervisor(graph, timed, options); }),
            "INVALID_ARGUMENT: [B5089] save_model_secs is -1; it must be >= 0 seconds");
  options = SupervisorSetup();
  options.stop_grace_secs = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(error_of([&] { Supervisor(graph, timed, options); }),
            "INVALID_ARGUMENT: [B5089] stop_grace_secs is nan; it must be >= 0 seconds");
}

TEST_F(SupervisorConformance, PROSE_27_WithoutStandardServicesQueueRunnersAreTheCallersToo) {
  const Output next = add_input("input", 3);
  Supervisor supervisor(graph, timed);
  supervisor.managed_session(
      [&](DirectSession& session) {
        EXPECT_THAT(supervisor.start_queue_runners(session), SizeIs(2));
        EXPECT_EQ(value(session, next), 1);
      },
      {.start_standard_services = false});
}

TEST_F(SupervisorConformance, PROSE_27_APreparedSessionIsClosedAndTheEventsEndHoweverTheBodyEnds) {
  number("n", 4);
  SupervisorSetup options;
  options.logdir = logdir;
  Supervisor supervisor(graph, timed, options);
  std::shared_ptr<DirectSession> kept;
  EXPECT_EQ(error_of([&] {
              supervisor.managed_session([&](DirectSession& session) {
                kept = session.shared_from_this();
                throw Error(Code::kDataLoss, "broken");
              });
            }),
            "DATA_LOSS: broken");
  EXPECT_TRUE(kept->closed());
  EXPECT_THAT(events(), ElementsAre(ElementsAre("version", "graph", "STOP")));
  EXPECT_EQ(
      error_of([&] { supervisor.managed_session([&](DirectSession&) { throw std::runtime_error("not ours"); }); }),
      "UNKNOWN: not ours");
}

TEST_F(SupervisorConformance, T_15b_WhatIsNoExceptionStopsTheThreadsToo) {
  Supervisor supervisor(graph, timed);
  std::shared_ptr<DirectSession> kept;
  std::atomic<bool> stopped{false};
  EXPECT_EQ(error_of([&] {
              supervisor.managed_session([&](DirectSession& session) {
                kept = session.shared_from_this();
                supervisor.coordinator().start_thread("waiter",
                                                      [&] { stopped = supervisor.coordinator().wait_for_stop(-1); });
                throw 42;
              });
            }),
            "UNKNOWN: unknown exception type");
  EXPECT_TRUE(stopped);
  EXPECT_TRUE(kept->closed());
}

TEST_F(SupervisorConformance, PROSE_27_AnErrorBehindAStopIsNotLost) {
  const ops::QueueRef queue = ops::fifo_queue(g, 1, {{DType::kInt64, {}}}, "queue");
  const Output put = ops::enqueue(queue, {one()});
  Supervisor supervisor(graph, timed);
  EXPECT_EQ(error_of([&] {
              supervisor.managed_session([&](DirectSession&) {
                supervisor.request_stop("enough steps");
                fail(Code::kDataLoss, "the results cannot be written");
              });
            }),
            "DATA_LOSS: the results cannot be written");
  // But what the stop itself ends is no error.
  EXPECT_EQ(error_of([&] {
              supervisor.managed_session([&](DirectSession& session) {
                supervisor.request_stop("enough steps");
                session.queue(queue.handle.raw().node).close(true);
                session.handle().run({put});
              });
            }),
            "no error");
}

TEST_F(SupervisorConformance, PROSE_27_ThreadsThatOutliveTheGracePeriodAreAnError) {
  number("n", 4);
  SupervisorSetup options;
  options.stop_grace_secs = 0.001;
  Supervisor supervisor(graph, timed, options);
  std::atomic<bool> started = false, release = false;
  std::shared_ptr<Joinable> thread;
  EXPECT_EQ(error_of([&] {
              supervisor.managed_session([&](DirectSession&) {
                thread = supervisor.loop(0, [&] {
                  started = true;
                  while (!release) std::this_thread::yield();
                });
                await([&] { return started.load(); });
              });
            }),
            "FAILED_PRECONDITION: Coordinator stopped with threads still running: supervisor_loop");
  release = true;
  EXPECT_TRUE(thread->join_for(10'000'000'000));
}

}  // namespace
}  // namespace belay::runtime::testing
