// SPDX-License-Identifier: Apache-2.0
// Section 23: the stop flag that the threads of a session share, and joining them.
#include "runtime/platform/threads/coordinator.h"

#include <gmock/gmock.h>

#include <atomic>

#include "tests/platform/fake_clock.h"
#include "tests/session/session_fixture.h"  // error_of

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kTenSeconds = 10 * FakeClock::kSecond;

// A thread that ends when it is released; the fixture releases what a test leaves.
class Stubborn {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return released_; });
  }
  void release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool released_ = false;
};

class CoordinatorConformance : public ::testing::Test {
 protected:
  ~CoordinatorConformance() override {
    stubborn.release();
    for (const auto& t : left) EXPECT_TRUE(t->join_for(kTenSeconds)) << t->name();
  }
  std::shared_ptr<Joinable> start_stubborn(const std::string& name) {
    left.push_back(coordinator->start_thread(name, [this] { stubborn.wait(); }));
    return left.back();
  }

  FakeClock clock;
  Stubborn stubborn;
  std::vector<std::shared_ptr<Joinable>> left;
  std::shared_ptr<Coordinator> coordinator = std::make_shared<Coordinator>(clock);
};

TEST_F(CoordinatorConformance, COORD_01_AFreshOneDoesNotStopAndARequestStops) {
  EXPECT_FALSE(coordinator->should_stop());
  // 10 ms of the coordinator's clock.
  bool stopped = true;
  Thread waiter("waiter", [&] { stopped = coordinator->wait_for_stop(10 * FakeClock::kMillisecond); });
  clock.await_waiters(1);
  clock.advance(10 * FakeClock::kMillisecond);
  ASSERT_TRUE(waiter.join_for(kTenSeconds));
  EXPECT_FALSE(stopped);
  coordinator->request_stop("enough");
  EXPECT_TRUE(coordinator->should_stop());
  EXPECT_TRUE(coordinator->wait_for_stop(10 * FakeClock::kMillisecond));  // the clock does not move: no waiting
}

TEST_F(CoordinatorConformance, COORD_02_AStopOfAnotherThreadWakesAWaiter) {
  bool stopped = false;
  Thread waiter("waiter", [&] { stopped = coordinator->wait_for_stop(kTenSeconds); });
  clock.await_waiters(1);
  coordinator->start_thread("stopper", [&] { coordinator->request_stop(); });
  ASSERT_TRUE(waiter.join_for(kTenSeconds));  // the clock was not moved
  EXPECT_TRUE(stopped);
  coordinator->join();
}

TEST_F(CoordinatorConformance, COORD_04_RegisteredThreadsAreJoinedWithoutBeingGiven) {
  for (const char* name : {"a", "b", "c"}) start_stubborn(name);
  std::vector<std::string> alive{"not joined"};
  Thread joiner("joiner", [&] { alive = coordinator->join(); });
  EXPECT_FALSE(joiner.join_for(20 * FakeClock::kMillisecond));
  stubborn.release();
  ASSERT_TRUE(joiner.join_for(kTenSeconds));
  EXPECT_THAT(alive, IsEmpty());
  for (const auto& t : left) EXPECT_TRUE(t->join_for(0)) << t->name();
}

TEST_F(CoordinatorConformance, COORD_05_RegisteredAndGivenThreadsAreJoined) {
  const auto start = [&](const char* name) {
    left.push_back(std::make_shared<Thread>(name, [this] { stubborn.wait(); }));
    return left.back();
  };
  const auto registered = start("registered"), both = start("both"), given = start("given");
  coordinator->register_thread(registered);
  coordinator->register_thread(both);
  coordinator->request_stop();
  // The union: one that is in both sets is named once.
  EXPECT_THAT(coordinator->join({given, both}, {.stop_grace_period_secs = 1e-10, .ignore_live_threads = true}),
              ::testing::UnorderedElementsAre("registered", "both", "given"));
}

TEST_F(CoordinatorConformance, COORD_06_ThreadsThatOutliveTheGracePeriodAreAnError) {
  for (const double grace : {1e-10, 0.002}) {
    start_stubborn("stubborn");
    coordinator->request_stop();
    EXPECT_EQ(error_of([&] { coordinator->join({}, {.stop_grace_period_secs = grace}); }),
              "FAILED_PRECONDITION: Coordinator stopped with threads still running: stubborn");
    coordinator->clear_stop();
  }
  // A longer one passes by the coordinator's clock.
  start_stubborn("stubborn");
  start_stubborn("another");
  coordinator->request_stop();
  std::string error;
  Thread joiner("joiner", [&] { error = error_of([&] { coordinator->join({}, {.stop_grace_period_secs = 3600}); }); });
  EXPECT_FALSE(joiner.join_for(10 * FakeClock::kMillisecond));
  while (!joiner.join_for(FakeClock::kMillisecond)) clock.advance(1000 * FakeClock::kSecond);
  EXPECT_EQ(error, "FAILED_PRECONDITION: Coordinator stopped with threads still running: stubborn another");
}

TEST_F(CoordinatorConformance, COORD_07_LiveThreadsAreOnlyNamedWhereTheCallerWantsIt) {
  start_stubborn("stubborn");
  coordinator->request_stop();
  EXPECT_THAT(coordinator->join({}, {.stop_grace_period_secs = 1e-10, .ignore_live_threads = true}),
              ElementsAre("stubborn"));
  EXPECT_TRUE(coordinator->joined());
}

TEST_F(CoordinatorConformance, COORD_09_TheFirstReportedErrorComesOutOfJoin) {
  coordinator->start_thread("first", [&] { coordinator->request_stop(Error(Code::kInternal, "first")); });
  EXPECT_TRUE(coordinator->wait_for_stop(-1));
  coordinator->start_thread("second", [&] { coordinator->request_stop(Error(Code::kDataLoss, "second")); });
  EXPECT_EQ(error_of([&] { coordinator->join(); }), "INTERNAL: first");
  EXPECT_EQ(error_of([&] { coordinator->raise_requested_exception(); }), "INTERNAL: first");
  EXPECT_EQ(coordinator->stop_reason(), "first");
}

// TensorFlow's test never reports the error whose fate it wants to show.
TEST_F(CoordinatorConformance, COORD_10_AnEndOfInputStopsWithoutBeingAnError) {
  coordinator->start_thread("reader", [] { fail(Code::kOutOfRange, "the end of the file"); });
  coordinator->start_thread("worker", [&] { coordinator->wait_for_stop(-1); });
  EXPECT_THAT(coordinator->join(), IsEmpty());
  EXPECT_TRUE(coordinator->should_stop());
  EXPECT_EQ(coordinator->stop_reason(), "the end of the file");
  EXPECT_FALSE(coordinator->requested_exception());
  // Which codes are clean is the caller's choice.
  Coordinator strict(clock, {});
  strict.start_thread("reader", [] { fail(Code::kOutOfRange, "the end of the file"); });
  EXPECT_EQ(error_of([&] { strict.join(); }), "OUT_OF_RANGE: the end of the file");
  Coordinator lenient(clock, {Code::kAborted, Code::kUnavailable});
  lenient.start_thread("reader", [] { fail(Code::kUnavailable, "a peer is gone"); });
  EXPECT_THAT(lenient.join(), IsEmpty());
}

TEST_F(CoordinatorConformance, COORD_12_TheScopeReportsAndSwallowsWhatIsThrownInIt) {
  bool went_on = false;
  coordinator->stop_on_exception([] { throw std::runtime_error("first"); });
  coordinator->stop_on_exception([] { fail(Code::kInternal, "second"); });
  coordinator->stop_on_exception([&] { went_on = true; });
  EXPECT_TRUE(went_on);
  EXPECT_TRUE(coordinator->should_stop());
  EXPECT_EQ(error_of([&] { coordinator->join(); }), "UNKNOWN: first");
}

TEST_F(CoordinatorConformance, COORD_13_ClearStopForgetsTheErrorAndTheNextOneCounts) {
  coordinator->request_stop(Error(Code::kInternal, "old"));
  EXPECT_EQ(error_of([&] { coordinator->join(); }), "INTERNAL: old");
  coordinator->clear_stop();
  EXPECT_FALSE(coordinator->should_stop());
  EXPECT_FALSE(coordinator->joined());
  EXPECT_EQ(coordinator->stop_reason(), "");
  EXPECT_THAT(coordinator->join(), IsEmpty());
  coordinator->clear_stop();
  coordinator->request_stop(Error(Code::kInternal, "new"));
  EXPECT_EQ(error_of([&] { coordinator->join(); }), "INTERNAL: new");
}

TEST_F(CoordinatorConformance, COORD_14_AfterAJoinAnErrorIsTheCallersUntilTheStopIsCleared) {
  coordinator->join();
  EXPECT_EQ(error_of([&] { coordinator->request_stop(Error(Code::kInternal, "late")); }), "INTERNAL: late");
  EXPECT_FALSE(coordinator->requested_exception());
  EXPECT_EQ(error_of([&] { coordinator->request_stop(Error(Code::kOutOfRange, "end")); }), "no error");
  coordinator->clear_stop();
  EXPECT_EQ(error_of([&] { coordinator->request_stop(Error(Code::kInternal, "in time")); }), "no error");
  EXPECT_EQ(error_of([&] { coordinator->join(); }), "INTERNAL: in time");
}

// A thread that join gave up on has no caller: its error ends neither the process nor a later join.
TEST_F(CoordinatorConformance, COORD_14_AnErrorOfAThreadThatWasGivenUpIsDropped) {
  left.push_back(coordinator->start_thread("stubborn", [this] {
    stubborn.wait();
    fail(Code::kInternal, "too late");
  }));
  coordinator->request_stop();
  coordinator->join({}, {.stop_grace_period_secs = 1e-10, .ignore_live_threads = true});
  std::weak_ptr<Coordinator> watched = coordinator;
  coordinator = nullptr;
  EXPECT_FALSE(watched.expired());  // the thread needs it
  stubborn.release();
  EXPECT_TRUE(left[0]->join_for(kTenSeconds));
  EXPECT_TRUE(watched.expired());
}

TEST_F(CoordinatorConformance, COORD_18_WithoutAStopAJoinWaitsLongerThanAnyGracePeriod) {
  start_stubborn("stubborn");
  std::string error;
  Thread joiner("joiner", [&] { error = error_of([&] { coordinator->join({}, {.stop_grace_period_secs = 0.001}); }); });
  clock.advance(3600 * FakeClock::kSecond);
  EXPECT_FALSE(joiner.join_for(50 * FakeClock::kMillisecond));
  coordinator->request_stop();
  ASSERT_TRUE(joiner.join_for(kTenSeconds));
  EXPECT_EQ(error, "FAILED_PRECONDITION: Coordinator stopped with threads still running: stubborn");
}

TEST_F(CoordinatorConformance, COORD_19_AThreadRegisteredDuringAJoinIsNotWaitedFor) {
  start_stubborn("first");
  std::string error = "none yet";
  Thread joiner("joiner", [&] { error = error_of([&] { coordinator->join(); }); });
  EXPECT_FALSE(joiner.join_for(20 * FakeClock::kMillisecond));
  Stubborn second;
  const auto late = coordinator->start_thread("second", [&] { second.wait(); });
  stubborn.release();
  ASSERT_TRUE(joiner.join_for(kTenSeconds));
  EXPECT_EQ(error, "no error");
  second.release();
  EXPECT_TRUE(late->join_for(kTenSeconds));
}

TEST_F(CoordinatorConformance, COORD_19_ClearStopDoesNotForgetTheThreads) {
  start_stubborn("stubborn");
  coordinator->request_stop();
  coordinator->clear_stop();
  coordinator->request_stop();
  EXPECT_EQ(error_of([&] { coordinator->join({}, {.stop_grace_period_secs = 1e-10}); }),
            "FAILED_PRECONDITION: Coordinator stopped with threads still running: stubborn");
}

// COORD-10 and COORD-11 of TensorFlow's tests: theirs report nothing, so they would pass with any rule.
TEST_F(CoordinatorConformance, QUIRK_16_AnEndOfInputIsCleanHoweverItIsReported) {
  const Error end(Code::kOutOfRange, "the end");
  const std::vector<std::function<void()>> reports = {
      [&] { coordinator->request_stop(end); },
      [&] { coordinator->stop_on_exception([&] { throw Error(end); }); },
      [&] { coordinator->start_thread("reader", [&] { throw Error(end); }); },
  };
  for (const auto& report : reports) {
    report();
    EXPECT_EQ(error_of([&] { coordinator->join(); }), "no error");
    EXPECT_TRUE(coordinator->should_stop());
    EXPECT_EQ(coordinator->stop_reason(), "the end");
    coordinator->clear_stop();
  }
}

TEST_F(CoordinatorConformance, PROSE_23_ADefaultJoinGivesTwoMinutesAndComplainsAboutLiveThreads) {
  EXPECT_EQ(Coordinator::JoinOptions().stop_grace_period_secs, 120);
  EXPECT_FALSE(Coordinator::JoinOptions().ignore_live_threads);
}

TEST_F(CoordinatorConformance, PROSE_23_TheRecordedErrorGoesBeforeTheComplaintAndTheThreadsAreForgotten) {
  start_stubborn("stubborn");
  coordinator->request_stop(Error(Code::kInternal, "broken"));
  EXPECT_EQ(error_of([&] { coordinator->join({}, {.stop_grace_period_secs = 1e-10}); }), "INTERNAL: broken");
  EXPECT_TRUE(coordinator->joined());
  coordinator->clear_stop();
  coordinator->request_stop();
  EXPECT_THAT(coordinator->join({}, {.stop_grace_period_secs = 1e-10}), IsEmpty());
}

TEST_F(CoordinatorConformance, PROSE_23_TheFirstRequestCounts) {
  coordinator->request_stop("enough steps");
  coordinator->request_stop(Error(Code::kInternal, "while it stops"));
  EXPECT_EQ(coordinator->stop_reason(), "enough steps");
  EXPECT_FALSE(coordinator->requested_exception());
  coordinator->join();
}

TEST_F(CoordinatorConformance, PROSE_23_AWaitWithoutTimeoutEndsWithTheStop) {
  bool stopped = false;
  Thread waiter("waiter", [&] { stopped = coordinator->wait_for_stop(-1); });
  clock.advance(3600 * FakeClock::kSecond);
  EXPECT_FALSE(waiter.join_for(10 * FakeClock::kMillisecond));
  coordinator->request_stop();
  ASSERT_TRUE(waiter.join_for(kTenSeconds));
  EXPECT_TRUE(stopped);
}

// After a join the caller may destroy what the thread held.
TEST_F(CoordinatorConformance, PROSE_23_WhatAThreadHeldIsFreedWhenItIsJoined) {
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  const auto thread = coordinator->start_thread("holder", [held = std::move(held)] {});
  coordinator->join();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace belay::runtime::testing
