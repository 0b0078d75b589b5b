// SPDX-License-Identifier: Apache-2.0
// The ends of a session: some exceptions end it well, every other one has another effect, and each leaves a defined
// state.
#include <gmock/gmock.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "runtime/graph/queue_runner.h"
#include "runtime/monitored/supervisor/supervisor.h"
#include "tests/monitored/counting_session.h"
#include "tests/monitored/saved_session.h"

namespace belay::runtime::testing {
namespace {

using ::testing::EndsWith;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class SessionEnds : public CountingSessionTest {
 protected:
  // In the second session that is made.
  static std::function<void()> once_again(std::function<void()> f) {
    return [f = std::move(f), made = 0]() mutable {
      if (++made == 2) f();
    };
  }
  // The exception that leaves a scope of two runs, the second of which needs a recovery.
  std::string recover() {
    return error_of([&] {
      session().scope([&] {
        train();
        session().interrupt(Error(Code::kAborted, "lost"));
        train();
      });
    });
  }
};

// ---- an end of input that is not a run's

class EndOfInputInARecovery : public SessionEnds, public ::testing::WithParamInterface<Code> {
 protected:
  void expect_an_error(const std::string& where) {
    const std::string text = where + "the file is too short (" + code_name(GetParam()) + " ends no run from here";
    EXPECT_THAT(recover(), StartsWith("FAILED_PRECONDITION: " + text));
    EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kError);
    EXPECT_THAT(session().end_reason().text, StartsWith(text));
    EXPECT_TRUE(session().closed());
    EXPECT_EQ(timeline.back(), "x.on_error");
    EXPECT_EQ(std::count(timeline.begin(), timeline.end(), "x.end"), 0);
  }
};

TEST_P(EndOfInputInARecovery, T_02a_OfAnInitFunctionIsAnError) {
  add_probe("x");
  const auto init = once_again([] { fail(GetParam(), "the file is too short"); });
  scaffold.host_init = [init](const SessionScaffold&, DirectSession&) mutable { init(); };
  open();
  expect_an_error("");
}

TEST_P(EndOfInputInARecovery, T_02a_OfAfterCreateSessionIsAnError) {
  add_probe("x").in["after_create_session"] = once_again([] { fail(GetParam(), "the file is too short"); });
  open();
  expect_an_error("hook \"x\" in after_create_session at step 1: ");
}

// RECOV-14: the error of a thread, which leaves the run.
TEST_P(EndOfInputInARecovery, T_02b_OfAThreadThatTheRecoveryJoinsIsAnError) {
  add_probe("x");
  open();
  coordinator().start_thread("reader", [] { fail(GetParam(), "the file is too short"); });
  coordinator().wait_for_stop(-1);
  expect_an_error("");
}

INSTANTIATE_TEST_SUITE_P(Codes, EndOfInputInARecovery, ::testing::Values(Code::kOutOfRange, Code::kStop),
                         [](const auto& code) { return std::string(code_name(code.param)); });

class SavedEnds : public SavedSession, public ::testing::WithParamInterface<Code> {};

TEST_P(SavedEnds, T_02a_AnEndOfInputOfLoadStateInARecoveryIsAnError) {
  Probe& x = add_probe("x");
  open();
  session().save();
  x.in["load_state"] = [] { fail(GetParam(), "of another run"); };
  EXPECT_THAT(error_of([&] {
                session().scope([&] {
                  session().interrupt(Error(Code::kAborted, "lost"));
                  train();
                });
              }),
              StartsWith(std::string("FAILED_PRECONDITION: hook \"x\" in load_state at step 0: of another run (") +
                         code_name(GetParam()) + " ends no run from here"));
  EXPECT_EQ(timeline.back(), "x.on_error");
}

TEST_P(SavedEnds, T_02b_AnEndOfInputOfSaveStateIsAnError) {
  struct Keeper final : Hook {
    void save_state(StateWriter&) const override { fail(GetParam(), "the journal is over"); }
  };
  add_hook("keeper", std::make_unique<Keeper>());
  add_plugin("checkpoint_saver", {{"save_steps", std::int64_t{1}}});
  EXPECT_THAT(error_of([&] { open(); }),
              StartsWith(std::string("FAILED_PRECONDITION: hook \"keeper\" in save_state: the journal is over (") +
                         code_name(GetParam()) + " ends no run from here"));
}

INSTANTIATE_TEST_SUITE_P(Codes, SavedEnds, ::testing::Values(Code::kOutOfRange, Code::kStop),
                         [](const auto& code) { return std::string(code_name(code.param)); });

// ---- exceptions that are no Error

TEST_F(SessionEnds, T_08a_AnyExceptionOfTheFirstCreationOpensTheGraphAndCallsOnError) {
  Probe& x = add_probe("x");
  scaffold.host_init = [](const SessionScaffold&, DirectSession&) { throw std::runtime_error("the file is missing"); };
  EXPECT_THROW(open(), std::runtime_error);
  EXPECT_FALSE(graph.finalized());
  EXPECT_EQ(x.error, "UNKNOWN: the file is missing");
}

TEST_F(SessionEnds, T_08b_AnyExceptionOfAQueueRunnerStopsTheThreadsThatAreStarted) {
  struct Broken final : QueueFiller {
    const std::string& name() const override { return its_name; }
    std::vector<std::shared_ptr<Joinable>> create_threads(const belay::Session&, Coordinator* coordinator) override {
      thread = coordinator->start_thread("waiter", [coordinator] { coordinator->wait_for_stop(-1); });
      throw std::runtime_error("no thread is left");
    }
    std::string its_name = "broken";
    std::shared_ptr<Joinable> thread;
  };
  const auto runner = std::make_shared<Broken>();
  graph.add_queue_runner(runner);
  Probe& x = add_probe("x");
  EXPECT_THROW(open(), std::runtime_error);
  EXPECT_TRUE(runner->thread->join_for(0));
  EXPECT_FALSE(graph.finalized());
  EXPECT_EQ(x.error, "UNKNOWN: no thread is left");
}

TEST_F(SessionEnds, T_08a_AnyExceptionOfARecoveryLeavesTheScopeAsItIs) {
  Probe& x = add_probe("x");
  const auto init = once_again([] { throw std::out_of_range("the file is too short"); });
  scaffold.host_init = [init](const SessionScaffold&, DirectSession&) mutable { init(); };
  open();
  EXPECT_THROW(recover(), std::out_of_range);
  EXPECT_TRUE(session().closed());
  EXPECT_FALSE(graph.finalized());
  EXPECT_EQ(x.error, "UNKNOWN: the file is too short");
}

TEST_F(SessionEnds, T_15a_WhatIsNoExceptionClosesTheSessionToo) {
  Probe& x = add_probe("x");
  open();
  const std::shared_ptr<DirectSession> raw = session().raw_session();
  EXPECT_THROW(session().scope([] { throw 42; }), int);
  EXPECT_TRUE(session().closed());
  EXPECT_TRUE(raw->closed());
  EXPECT_FALSE(graph.finalized());
  EXPECT_EQ(x.error, "UNKNOWN: unknown exception type");
  EXPECT_EQ(session().end_reason().text, "unknown exception type");
}

// ---- what is left

TEST_F(SessionEnds, T_01b_TheVariablesOfALostSessionAreFreedBeforeTheNewOnesAreMade) {
  std::weak_ptr<VariableStore> lost;
  int made = 0;
  scaffold.host_init = [&](const SessionScaffold&, DirectSession& session) {
    if (++made == 2) {
      EXPECT_TRUE(lost.expired());
    }
    lost = session.shared_store();
  };
  open();
  EXPECT_EQ(recover(), "no error");
  EXPECT_EQ(made, 2);
}

TEST_F(SessionEnds, T_14b_ASessionKnowsTheStepThatItEndedAtAlsoAfterGoingBack) {
  open();
  for (int i = 0; i < 5; ++i) train();
  EXPECT_EQ(session().global_step(), 5);
  session().interrupt(Error(Code::kAborted, "lost"));
  train();
  EXPECT_EQ(session().global_step(), 1);
  session().close();
  EXPECT_EQ(session().global_step(), 1);
}

class SharedGraph : public SessionEnds {
 protected:
  std::unique_ptr<MonitoredSession> make() {
    return std::make_unique<MonitoredSession>(
        std::make_shared<ChiefSessionCreator>(graph, environment, ChiefSessionCreator::Options{}), environment, none_);
  }
  std::int64_t train_in(MonitoredSession& session) { return session.run({train_op})[0].scalar<std::int64_t>(); }

 private:
  HookSet none_;
};

TEST_F(SharedGraph, T_10_IsFrozenWhileAnySessionLivesAndOpenBehindTheLast) {
  auto first = make(), second = make();
  first->close();
  EXPECT_TRUE(graph.finalized());
  EXPECT_NE(error_of([&] { ops::constant(g, Tensor(5.0f), "late"); }), "no error");
  second->interrupt(Error(Code::kAborted, "lost"));
  EXPECT_EQ(train_in(*second), 1);
  auto third = make();
  second.reset();  // dropped
  EXPECT_TRUE(graph.finalized());
  third->close();
  EXPECT_FALSE(graph.finalized());
  ops::constant(g, Tensor(5.0f), "between");
  EXPECT_EQ(train_in(*make()), 1);
}

TEST_F(SharedGraph, T_10_ASessionThatCannotBeMadeOpensItUnderNoOther) {
  auto first = make();
  add_probe("x").in["begin"] = [] { fail(Code::kInternal, "no"); };
  EXPECT_NE(error_of([&] { open(); }), "no error");
  EXPECT_TRUE(graph.finalized());
  first->close();
  EXPECT_FALSE(graph.finalized());
}

TEST_F(SharedGraph, T_10_StaysFrozenWhereItWasBeforeTheFirst) {
  SessionScaffold().finalize(graph);
  auto first = make(), second = make();
  second->close();
  first->close();
  EXPECT_TRUE(graph.finalized());
}

TEST_F(SharedGraph, T_10_IsFrozenWhileASupervisorLives) {
  auto first = make();
  {
    Supervisor supervisor(graph, environment, SupervisorSetup{});
    first->close();
    EXPECT_TRUE(graph.finalized());
  }
  EXPECT_FALSE(graph.finalized());
}

// ---- stop_now and the environment

// As a signal comes while a run that fails again and again waits before its next recovery.
TEST_F(SessionEnds, T_148_AStopInThePauseBeforeARecoveryIsTheReasonOfTheEnd) {
  Probe& x = add_probe("x");
  open();
  x.in["before_run"] = [&, n = 0]() mutable {
    if (++n == 2) interrupt.cancel(Error(Code::kCancelled, "stopped by SIGTERM"));
    fail(Code::kAborted, "lost");
  };
  session().scope([&] {
    EXPECT_EQ(error_of([&] { train(); }), "CANCELLED: stopped by SIGTERM");
    session().request_stop("stopped by SIGTERM");
  });
  EXPECT_TRUE(session().closed());
  EXPECT_EQ(session().end_reason().kind, EndReason::Kind::kStopRequested);
  EXPECT_EQ(session().end_reason().text, "stopped by SIGTERM");
}

TEST_F(SessionEnds, T_12_ASessionBehindOneThatWasStoppedNowRecoversAsOftenAsItMay) {
  open();
  session().stop_now("SIGTERM of the first");
  session().close();
  Probe& x = add_probe("x");
  open();
  x.in["before_run"] = [n = 0]() mutable {
    if (++n <= 3) fail(Code::kAborted, "lost");
  };
  session().scope([&] { EXPECT_EQ(train(), 1); });
  EXPECT_EQ(session().recoveries(), 3);
  EXPECT_EQ(timeline.back(), "x.end");
  EXPECT_EQ(session().end_reason().text, "the session was closed");
}

TEST_F(SharedGraph, T_12_StopNowEndsTheWaitsOfItsOwnSessionOnly) {
  Probe& x = add_probe("x");
  open();
  auto second = make();
  x.in["before_run"] = [&, n = 0]() mutable {
    if (++n > 3) return;
    second->stop_now("only the second");
    fail(Code::kAborted, "lost");
  };
  EXPECT_EQ(train(), 1);
  EXPECT_EQ(session().recoveries(), 3);
}

TEST_F(SessionEnds, T_12_StopNowEndsAWorkersWaitForItsChief) {
  std::unique_ptr<MonitoredSession> worker;
  const auto creator =
      std::make_shared<WorkerSessionCreator>(graph, environment, WorkerSessionCreator::Options{.target = "local:job"});
  HookSet none;
  auto chief = std::make_unique<MonitoredSession>(
      std::make_shared<ChiefSessionCreator>(graph, environment, ChiefSessionCreator::Options{.target = "local:job"}),
      environment, none);
  MonitoredSessionOptions options;
  options.on_recovery = [&](const Error&, std::int64_t) {
    chief.reset();  // and the variables with it
    worker->stop_now("SIGTERM");
  };
  worker = std::make_unique<MonitoredSession>(creator, environment, none, std::move(options));
  worker->interrupt(Error(Code::kUnavailable, "lost"));
  worker->scope([&] { worker->run({train_op}); });
  EXPECT_TRUE(worker->closed());
  EXPECT_EQ(worker->end_reason().kind, EndReason::Kind::kStopRequested);
  EXPECT_EQ(worker->end_reason().text, "SIGTERM");
}

}  // namespace
}  // namespace belay::runtime::testing
