// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/fake_session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "belay/testing/error_of.h"

namespace {

using belay::Code;
using belay::Output;
using belay::Tensor;
using belay::TensorView;
using belay::testing::error_of;
using belay::testing::FakeCoordinator;
using belay::testing::FakeGraph;
using belay::testing::FakeHost;
using belay::testing::FakeSession;

struct Fixture {
  FakeHost host;
  FakeGraph graph{host};
  FakeSession fake{host, graph};
  belay::Host services{host.api(), host.raw()};
  belay_session* raw = fake.open_handle();
  belay::Session session{&services.services(), raw};
};

TEST(FakeSession, AFetchWithoutAValueIsAnError) {
  Fixture f;
  const Output x = f.graph.tensor<float>("x");
  EXPECT_EQ(error_of([&] { f.session.run({x}); }),
            "FAILED_PRECONDITION: 'x' was fetched, but the test gave it no value");
  EXPECT_EQ(error_of([&] { f.fake.set_value("x", 1.0); }),
            "INVALID_ARGUMENT: 'x' was declared float32 [], the test's value is float64 []");
  EXPECT_EQ(error_of([&] { f.fake.set_value("y", 1.f); }), "NOT_FOUND: the graph has no 'y'");
}

TEST(FakeSession, AnOperationGivesNoValue) {
  Fixture f;
  const Output train = f.graph.operation("train");
  EXPECT_FALSE(f.session.run({train})[0].has_value());
}

TEST(FakeSession, ATestScriptsRuns) {
  Fixture f;
  const Output x = f.graph.tensor<float>("x");
  int calls = 0;
  f.fake.on_run([&](const FakeSession::RawRun& run) -> std::vector<Tensor> {
    if (++calls == 2) belay::fail(Code::kUnavailable, "the peer is gone");
    return std::vector<Tensor>(run.fetches.size() + (calls == 3 ? 1 : 0), Tensor(static_cast<float>(calls)));
  });
  EXPECT_EQ(f.session.value(belay::Fetch<float>(x)), 1.f);
  EXPECT_EQ(error_of([&] { f.session.run({x}); }), "UNAVAILABLE: the peer is gone");
  EXPECT_EQ(error_of([&] { f.session.run({x}); }), "INTERNAL: the test's on_run gave 2 values for 1 fetches");
  EXPECT_EQ(f.fake.raw_runs().size(), 3u);
}

TEST(FakeSession, AViewOfAReleasedResultShowsNonsense) {
  Fixture f;
  const Output x = f.graph.tensor<std::int64_t>("x", {2});
  f.fake.set_value("x", Tensor({2}, std::vector<std::int64_t>{3, 4}));
  TensorView kept;
  {
    const belay::RunResult result = f.session.run({x});
    kept = result[0];
    EXPECT_EQ(kept.number(1), 4.0);
  }
  EXPECT_EQ(kept.number(1), -1.0);
}

TEST(FakeSession, ASessionIsGoneAfterTheCallThatGaveIt) {
  Fixture f;
  const Output x = f.graph.tensor<float>("x");
  FakeSession::close_handle(f.raw);
  EXPECT_EQ(error_of([&] { f.session.run({x}); }),
            "FAILED_PRECONDITION: session.run was called on a session after the call that gave it");
  f.session.graph();
  EXPECT_EQ(f.host.breaches(),
            (std::vector<std::string>{"session.run was called on a session after the call that gave it",
                                      "session.graph was called on a session after the call that gave it"}));
}

TEST(FakeSession, ARunIsGoneWhenItIsOver) {
  Fixture f;
  FakeSession::Run& run = f.fake.open_run({});
  belay::RunContext context(&f.services.services(), run.raw());
  FakeSession::close_run(run);
  context.request_stop("too late");
  EXPECT_EQ(f.host.breaches(), std::vector<std::string>{"session.run_request_stop was called on a run that is over"});
}

TEST(FakeSession, RawRunsMayComeFromAnyThread) {
  Fixture f;
  const Output x = f.graph.tensor<float>("x");
  f.fake.set_value("x", 1.f);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) EXPECT_EQ(f.session.value(belay::Fetch<float>(x)), 1.f);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(f.fake.raw_runs().size(), 400u);
  EXPECT_EQ(f.fake.open_results(), 0u);
  EXPECT_TRUE(f.host.breaches().empty());
}

TEST(FakeSession, OtherCallsBelongToOneThread) {
  Fixture f;
  f.fake.variable("w", Tensor(1.f));
  std::string error;
  std::thread([&] { error = error_of([&] { f.session.assign("w", Tensor(2.f)); }); }).join();
  EXPECT_EQ(error,
            "FAILED_PRECONDITION: session.assign was called from a thread of the plugin; it belongs to the session's "
            "thread");
}

TEST(FakeCoordinator, TheFirstStopCounts) {
  FakeHost host;
  FakeCoordinator coordinator(host);
  coordinator.request_stop(Code::kOk, "first");
  coordinator.request_stop(Code::kAborted, "second");
  EXPECT_EQ(coordinator.reason(), "first");
  EXPECT_EQ(coordinator.code(), Code::kOk);
  coordinator.clear_stop();
  EXPECT_FALSE(coordinator.should_stop());
}

TEST(FakeCoordinator, WaitingFollowsTheFakeClock) {
  Fixture f;
  const belay::Coordinator coordinator = f.session.coordinator();
  bool stopped = true;
  std::atomic<bool> done{false};
  std::thread waiting([&] {
    stopped = coordinator.wait_for_stop(std::chrono::hours(1));
    done = true;
  });
  while (!done) {  // whenever the thread begins to wait, an hour passes
    f.host.clock.advance(60);
    std::this_thread::yield();
  }
  waiting.join();
  EXPECT_FALSE(stopped);
  EXPECT_FALSE(coordinator.wait_for_stop(std::chrono::nanoseconds(0)));
}

TEST(FakeCoordinator, AStopWakesAThreadThatIsThenJoined) {
  Fixture f;
  const belay::Coordinator coordinator = f.session.coordinator();
  struct Worker {
    std::thread thread;
    bool join(std::chrono::nanoseconds) {
      thread.join();
      return true;
    }
  } worker;
  struct Unjoined {
    bool join(std::chrono::nanoseconds) { return false; }
  } unjoined, forgotten;
  worker.thread = std::thread([&] { coordinator.wait_for_stop(std::chrono::nanoseconds(-1)); });
  coordinator.register_thread("worker", worker);
  coordinator.register_thread("unjoined", unjoined);
  coordinator.register_thread("forgotten", forgotten);
  coordinator.unregister_thread(forgotten);
  EXPECT_EQ(f.fake.coordinator().stop_and_join(10), std::vector<std::string>{"unjoined"});
  EXPECT_EQ(error_of([&] { coordinator.unregister_thread(worker); }), "NOT_FOUND: no such thread is registered");
  struct Failing {
    bool join(std::chrono::nanoseconds) { fail(Code::kDataLoss, "half of it is missing"); }
  } failing;
  coordinator.register_thread("failing", failing);
  EXPECT_EQ(error_of([&] { f.fake.coordinator().stop_and_join(10); }), "DATA_LOSS: half of it is missing");
}

}  // namespace
