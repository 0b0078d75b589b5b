// SPDX-License-Identifier: Apache-2.0
// Section 24: a thread that calls a function on a timer.
#include "runtime/platform/threads/looper_thread.h"

#include <gmock/gmock.h>

#include <atomic>
#include <limits>

#include "tests/platform/fake_clock.h"
#include "tests/session/session_fixture.h"  // error_of

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;

class LooperThreadConformance : public ::testing::Test {
 protected:
  std::shared_ptr<Joinable> start(double interval_secs, std::function<void()> f) {
    return LooperThread::start(*coordinator, interval_secs, {.run_loop = std::move(f)});
  }
  std::int64_t now() const { return clock.monotonic_ns() / FakeClock::kSecond; }

  FakeClock clock;
  std::shared_ptr<Coordinator> coordinator = std::make_shared<Coordinator>(clock);
};

TEST_F(LooperThreadConformance, LOOP_01_TheFunctionIsCalledUntilItAsksToStop) {
  int left = 3;
  start(0, [&] {
    if (--left == 0) coordinator->request_stop();
  });
  coordinator->join();
  EXPECT_EQ(left, 0);
}

TEST_F(LooperThreadConformance, LOOP_04_WithoutIntervalTheCallsComeBackToBack) {
  std::vector<std::int64_t> times;
  start(0, [&] {
    times.push_back(now());
    if (times.size() == 2) clock.advance(7 * FakeClock::kSecond);
    if (times.size() == 4) coordinator->request_stop();
  });
  coordinator->join();
  EXPECT_THAT(times, ElementsAre(0, 0, 7, 7));
}

TEST_F(LooperThreadConformance, LOOP_04_WithAnIntervalTheFirstCallIsAtOnceAndOverdueOnesAreMadeUpFor) {
  std::vector<std::int64_t> times;
  std::atomic<int> calls = 0;
  start(2, [&] {
    times.push_back(now());
    if (times.size() == 2) clock.advance(5 * FakeClock::kSecond);  // a slow call
    if (times.size() == 5) coordinator->request_stop();
    ++calls;
  });
  const auto advance_after = [&](int n, std::int64_t ns) {
    while (calls < n) std::this_thread::yield();
    clock.await_waiters(1);
    clock.advance(ns);
  };
  advance_after(1, 2 * FakeClock::kSecond);
  advance_after(4, 1 * FakeClock::kSecond);
  coordinator->join();
  // Those of 4 and 6 seconds are overdue after the slow call and come at once; the next keeps to the rate.
  EXPECT_THAT(times, ElementsAre(0, 2, 7, 7, 8));
}

TEST_F(LooperThreadConformance, PROSE_24_ALoopStartsRunsAndStopsInItsThread) {
  std::string order;
  LooperThread::start(*coordinator, 0,
                      {.run_loop =
                           [&] {
                             order += "run ";
                             coordinator->request_stop();
                           },
                       .start_loop = [&] { order += "start "; },
                       .stop_loop = [&] { order += "stop"; }});
  coordinator->join();
  EXPECT_EQ(order, "start run stop");
}

// LOOP-06
TEST_F(LooperThreadConformance, T_16b_ItIsRegisteredAndWhatItThrowsIsReportedWithoutStopLoop) {
  const auto failing = [&](const char* where) {
    const auto fails_in = [where](const char* function) {
      return [=] {
        if (std::string_view(where) == function) fail(Code::kUnavailable, function);
      };
    };
    bool stopped = false;
    coordinator = std::make_shared<Coordinator>(clock);
    LooperThread::start(
        *coordinator, 60,
        {.run_loop = fails_in("run_loop"), .start_loop = fails_in("start_loop"), .stop_loop = [&] { stopped = true; }});
    EXPECT_EQ(error_of([&] { coordinator->join(); }), std::string("UNAVAILABLE: ") + where);
    EXPECT_FALSE(stopped) << where;
  };
  failing("start_loop");
  failing("run_loop");
}

TEST_F(LooperThreadConformance, PROSE_24_AStopEndsTheWaitForTheNextCall) {
  std::atomic<int> calls = 0;
  start(3600, [&] { ++calls; });
  clock.await_waiters(1);
  coordinator->request_stop();
  coordinator->join();  // the clock never moved
  EXPECT_EQ(calls, 1);
}

TEST_F(LooperThreadConformance, PROSE_24_AnIntervalAndAFunctionAreNeeded) {
  EXPECT_EQ(error_of([&] { start(1, {}); }), "INVALID_ARGUMENT: a looper thread needs a function to call");
  for (const double bad : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_EQ(error_of([&] { start(bad, [] {}); }),
              "INVALID_ARGUMENT: a looper thread's interval must be >= 0 seconds and finite");
}

}  // namespace
}  // namespace belay::runtime::testing
