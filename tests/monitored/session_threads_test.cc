// SPDX-License-Identifier: Apache-2.0
// Threads of a session's coordinator that run the session themselves, while it recovers or ends.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "tests/monitored/counting_session.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class SessionThreads : public CountingSessionTest {
 protected:
  // A thread of the session that makes hooked runs until one is refused.
  struct Worker {
    std::atomic<int> runs{0};
    std::string said;
    std::shared_ptr<Joinable> thread;
  };
  std::unique_ptr<Worker> start_worker() {
    auto worker = std::make_unique<Worker>();
    worker->thread = coordinator().start_thread("worker", [this, w = worker.get()] { work(*w); });
    while (worker->runs < 10) std::this_thread::yield();
    return worker;
  }
  void work(Worker& worker) {
    while (worker.said.empty()) {
      const std::string error = error_of([&] { train(); });
      if (error != "no error") worker.said = error;
      ++worker.runs;
    }
  }
  // The session's first run on the calling thread is lost.
  void lose_a_run(Probe& x) {
    x.in["before_run"] = [&x, lost = false, me = std::this_thread::get_id()]() mutable {
      if (lost || std::this_thread::get_id() != me) return;
      lost = true;
      fail(Code::kAborted, "lost");
    };
  }
};

constexpr std::int64_t kLong = 60'000'000'000;

TEST_F(SessionThreads, T_06a_TheRunsOfAThreadOfTheSessionEndWhenARecoveryBegins) {
  Probe& x = add_probe("x");
  lose_a_run(x);
  open();
  const auto worker = start_worker();
  EXPECT_EQ(train(), 1);
  EXPECT_EQ(session().recoveries(), 1);
  EXPECT_THAT(session().unjoined(), IsEmpty());
  ASSERT_TRUE(worker->thread->join_for(0));
  EXPECT_EQ(worker->said, "CANCELLED: the session that this thread was started in is over");
  EXPECT_EQ(train(), 2);  // only this thread trains on
}

TEST_F(SessionThreads, T_06a_SoDoTheRawRunsThatWait) {
  const Output take = ops::dequeue(ops::fifo_queue(g, 1, {{DType::kFloat32, {}}}, "empty"))[0];
  Probe& x = add_probe("x");
  lose_a_run(x);
  open();
  std::atomic<bool> waiting{false};
  std::string said;
  coordinator().start_thread("reader", [&, raw = session().raw_session()] {
    waiting = true;
    said = error_of([&] { raw->handle().run({take}); });
  });
  while (!waiting) std::this_thread::yield();
  EXPECT_EQ(train(), 1);
  EXPECT_THAT(session().unjoined(), IsEmpty());
  EXPECT_THAT(said, StartsWith("CANCELLED: "));
}

TEST_F(SessionThreads, T_06b_TheEndDoesNotWaitForAThreadThatMakesHookedRuns) {
  add_probe("x");
  open();
  const auto worker = start_worker();
  EXPECT_EQ(error_of([&] { session().close(); }), "no error");
  EXPECT_THAT(session().unjoined(), IsEmpty());
  ASSERT_TRUE(worker->thread->join_for(0));
  EXPECT_EQ(worker->said, "FAILED_PRECONDITION: [B5070] Run called on a closed session");
}

TEST_F(SessionThreads, T_06b_WhatARefusedRunThrowsOutOfItsThreadIsNoErrorOfTheSession) {
  add_probe("x");
  open();
  std::atomic<int> runs{0};
  coordinator().start_thread("worker", [&] {
    for (;; ++runs) train();
  });
  while (runs < 10) std::this_thread::yield();
  EXPECT_EQ(error_of([&] { session().close(); }), "no error");
}

TEST_F(SessionThreads, T_06c_AThreadThatOutlivedItsSessionDoesNotTrainTheNextOne) {
  MonitoredSessionOptions options;
  options.settings.stop_grace_period_secs = 0.001;
  open(options);
  std::atomic<bool> release{false};
  std::string run, closing;
  bool stop = false;
  const auto stubborn = coordinator().start_thread("stubborn", [&] {
    while (!release) std::this_thread::yield();
    stop = session().should_stop();
    run = error_of([&] { train(); });
    closing = error_of([&] { session().close(); });
  });
  session().interrupt(Error(Code::kAborted, "lost"));
  EXPECT_EQ(train(), 1);
  EXPECT_THAT(session().unjoined(), ElementsAre("stubborn"));
  release = true;
  ASSERT_TRUE(stubborn->join_for(kLong));
  EXPECT_TRUE(stop);
  EXPECT_EQ(run, "CANCELLED: the session that this thread was started in is over");
  EXPECT_EQ(closing, "FAILED_PRECONDITION: [B5071] Close called by a thread of the session, which it would wait for");
  EXPECT_EQ(session().raw_session()->global_step(), 1);
}

// A recovery joins the session's threads: one of them would wait for itself.
TEST_F(SessionThreads, T_06d_APreemptionInAThreadOfTheSessionIsRecoveredByTheLoop) {
  Probe& x = add_probe("x");
  open();
  x.in["before_run"] = [&] {
    x.in.clear();
    fail(Code::kUnavailable, "lost");
  };
  coordinator().start_thread("worker", [&] { train(); });
  EXPECT_TRUE(coordinator().wait_for_stop(-1));
  EXPECT_EQ(session().recoveries(), 0);
  EXPECT_FALSE(session().should_stop());
  EXPECT_EQ(session().recoveries(), 1);
  EXPECT_THAT(session().unjoined(), IsEmpty());
  EXPECT_EQ(train(), 1);
}

TEST_F(SessionThreads, T_06d_ShouldStopInAThreadOfTheSessionOnlyLooks) {
  open();
  Coordinator& c = coordinator();
  bool before = true, after = false;
  c.start_thread("worker", [&] {
    before = session().should_stop();
    c.request_stop(Error(Code::kAborted, "lost"));
    after = session().should_stop();
  });
  c.wait_for_stop(-1);
  EXPECT_FALSE(session().should_stop());  // joins the thread
  EXPECT_EQ(session().recoveries(), 1);
  EXPECT_FALSE(before);
  EXPECT_TRUE(after);
}

TEST_F(SessionThreads, T_06e_AThreadThatIsRegisteredByHandBelongsToTheSessionToo) {
  Probe& x = add_probe("x");
  lose_a_run(x);
  open();
  Worker worker;
  std::atomic<bool> registered{false};
  worker.thread = std::make_shared<Thread>("worker", [&] {
    while (!registered) std::this_thread::yield();
    work(worker);
  });
  coordinator().register_thread(worker.thread);
  registered = true;
  while (worker.runs < 10) std::this_thread::yield();
  EXPECT_EQ(train(), 1);
  EXPECT_THAT(session().unjoined(), IsEmpty());
  EXPECT_THAT(worker.said, StartsWith("CANCELLED: "));
}

TEST_F(SessionThreads, T_06e_AnotherThreadOfTheProgramGoesOnInTheNewSession) {
  Probe& x = add_probe("x");
  lose_a_run(x);
  open();
  std::atomic<bool> enough{false}, ended{false};
  std::atomic<int> runs{0};
  std::string said = "no error";
  std::thread other([&] {
    while (!enough && said == "no error") {
      said = error_of([&] { train(); });
      ++runs;
    }
    ended = true;
  });
  const auto wait_for = [&](int n) {
    while (runs < n && !ended) std::this_thread::yield();
  };
  wait_for(10);
  train();
  EXPECT_EQ(session().recoveries(), 1);
  wait_for(runs + 10);
  enough = true;
  other.join();
  EXPECT_EQ(said, "no error");
  EXPECT_GE(session().raw_session()->global_step(), 10);
}

// The session that the thread runs is another one than the session it belongs to.
TEST_F(SessionThreads, T_06e_AThreadOfOneSessionMayRunAnotherWhileItsOwnEnds) {
  open();
  NodeGraph other(*ops);
  const belay::Graph h = other.handle();
  const Output other_step = ops::create_global_step(h);
  HookSet none;
  SingularMonitoredSession second(other, environment, none);
  std::string said;
  Coordinator& c = coordinator();
  c.start_thread("worker", [&] {
    c.wait_for_stop(-1);
    said = error_of([&] { second.run({other_step}); });
  });
  session().close();
  EXPECT_EQ(said, "no error");
}

TEST_F(SessionThreads, T_08c_WhatAThreadThrowsIsReportedWhateverItIs) {
  const auto shared = std::make_shared<Coordinator>(clock);
  shared->start_thread("thrower", [] { throw 42; });
  EXPECT_EQ(error_of([&] { shared->join(); }), "UNKNOWN: unknown exception type");
}

}  // namespace
}  // namespace belay::runtime::testing
