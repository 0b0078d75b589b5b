#include "runtime/session/coordinator.h"

#include <atomic>

#include "runtime/session/looper_thread.h"
#include "tests/platform/fake_clock.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

class CoordinatorTest : public ::testing::Test {
 protected:
  FakeClock clock;
  std::shared_ptr<Coordinator> coordinator = std::make_shared<Coordinator>(system_clock());
};

TEST_F(CoordinatorTest, AFreshOneDoesNotStop) {
  EXPECT_FALSE(coordinator->should_stop());
  EXPECT_FALSE(coordinator->wait_for_stop(10'000'000));
  coordinator->request_stop("enough");
  EXPECT_TRUE(coordinator->should_stop());
  EXPECT_TRUE(coordinator->wait_for_stop(0));
  EXPECT_EQ(coordinator->stop_reason(), "enough");
}

TEST_F(CoordinatorTest, AStopOfAnotherThreadWakesAWaiter) {
  coordinator->start_thread("stopper", [&] { coordinator->request_stop(); });
  EXPECT_TRUE(coordinator->wait_for_stop(-1));
  coordinator->join();
}

TEST_F(CoordinatorTest, JoinWaitsForRegisteredAndGivenThreads) {
  std::atomic<int> ended{0};
  coordinator->start_thread("a", [&] { ++ended; });
  const auto b = std::make_shared<Thread>("b", [&] { ++ended; });
  coordinator->join({b});
  EXPECT_EQ(ended, 2);
  EXPECT_TRUE(coordinator->joined());
}

TEST_F(CoordinatorTest, ThreadsThatOutliveTheGracePeriodAreNamed) {
  std::atomic<bool> release{false};
  coordinator->start_thread("stubborn", [&] {
    while (!release) std::this_thread::yield();
  });
  coordinator->request_stop();
  EXPECT_EQ(error_of([&] { coordinator->join({}, {.stop_grace_period_secs = 0.002}); }),
            "FAILED_PRECONDITION: Coordinator stopped with threads still running: stubborn");
  const auto again = coordinator->start_thread("stubborn too", [&] {
    while (!release) std::this_thread::yield();
  });
  EXPECT_EQ(coordinator->join({}, {.stop_grace_period_secs = 1e-10, .ignore_live_threads = true}),
            (std::vector<std::string>{"stubborn too"}));
  release = true;
  EXPECT_TRUE(again->join_for(10'000'000'000));
}

TEST_F(CoordinatorTest, TheFirstReportedErrorComesOutOfJoin) {
  coordinator->request_stop(Error(Code::kInternal, "first"));
  coordinator->request_stop(Error(Code::kInternal, "second"));
  EXPECT_EQ(error_of([&] { coordinator->raise_requested_exception(); }), "INTERNAL: first");
  EXPECT_EQ(error_of([&] { coordinator->join(); }), "INTERNAL: first");
}

TEST_F(CoordinatorTest, WhatAThreadThrowsIsReported) {
  coordinator->start_thread("thrower", [] { fail(Code::kInternal, "boom"); });
  EXPECT_EQ(error_of([&] { coordinator->join(); }), "INTERNAL: boom");
}

TEST_F(CoordinatorTest, AnEndOfInputStopsWithoutBeingAnError) {
  coordinator->request_stop(Error(Code::kOutOfRange, "end"));
  EXPECT_TRUE(coordinator->should_stop());
  coordinator->join();
  const auto strict = std::make_shared<Coordinator>(system_clock(), std::vector<Code>{});
  strict->request_stop(Error(Code::kOutOfRange, "end"));
  EXPECT_EQ(error_of([&] { strict->join(); }), "OUT_OF_RANGE: end");
}

TEST_F(CoordinatorTest, ClearStopForgetsTheErrorAndTheJoin) {
  coordinator->request_stop(Error(Code::kInternal, "old"));
  EXPECT_EQ(error_of([&] { coordinator->join(); }), "INTERNAL: old");
  EXPECT_EQ(error_of([&] { coordinator->request_stop(Error(Code::kInternal, "late")); }), "INTERNAL: late");
  coordinator->clear_stop();
  EXPECT_FALSE(coordinator->should_stop());
  coordinator->request_stop(Error(Code::kInternal, "new"));
  EXPECT_EQ(error_of([&] { coordinator->join(); }), "INTERNAL: new");
}

TEST_F(CoordinatorTest, ALooperWithoutIntervalRunsUntilTheStop) {
  int left = 3;
  LooperThread::start(*coordinator, 0, {.run_loop = [&] {
    if (--left == 0) coordinator->request_stop();
  }});
  coordinator->join();
  EXPECT_EQ(left, 0);
}

TEST_F(CoordinatorTest, ALooperCallsAtOnceAndThenAtAFixedRate) {
  const auto timed = std::make_shared<Coordinator>(clock);
  std::vector<std::int64_t> times;
  std::atomic<int> calls = 0;
  std::string order;
  LooperThread::start(*timed, 2,
                      {.run_loop =
                           [&] {
                             times.push_back(clock.monotonic_ns() / FakeClock::kSecond);
                             if (times.size() == 2) clock.advance(5 * FakeClock::kSecond);  // a slow call
                             if (times.size() == 5) timed->request_stop();
                             ++calls;
                           },
                       .start_loop = [&] { order += "start "; },
                       .stop_loop = [&] { order += "stop"; }});
  const auto advance_after = [&](int n, std::int64_t ns) {
    while (calls < n) std::this_thread::yield();
    clock.await_waiters(1);
    clock.advance(ns);
  };
  advance_after(1, 2 * FakeClock::kSecond);
  advance_after(4, 1 * FakeClock::kSecond);
  timed->join();
  // Those of 4 and 6 seconds are overdue after the slow call and come at once; the next keeps to the rate.
  EXPECT_EQ(times, (std::vector<std::int64_t>{0, 2, 7, 7, 8}));
  EXPECT_EQ(order, "start stop");
}

}  // namespace
}  // namespace belay::runtime::testing
