// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "belay/error.h"
#include "runtime/checkpoint/directory/locked_directory.h"
#include "tests/platform/fake_clock.h"
#include "tests/platform/faulty_file_system.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime::testing {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// The processes of a run, as far as a group needs them, each on a thread when it waits.
class MembershipTest : public ::testing::Test {
 protected:
  struct Worker {
    Worker(const std::string& run, const Membership::Options& options)
        : seat(posix_file_system(), run, options.seat), members(options, [] { return false; }) {}
    std::future<RankMembers> join() {
      return std::async(std::launch::async, [this] { return members.join(seat, posix_file_system()); });
    }
    WorkerSeat seat;
    Membership members;
  };
  Membership::Options options(int seat, LostRank on_lost) const {
    Membership::Options o;
    o.seat = seat, o.seats = 3, o.on_lost = on_lost, o.min_ranks = min_ranks_;
    o.max_wait_secs = wait_secs_, o.timeout_secs = 30;
    return o;
  }
  std::unique_ptr<Worker> worker(int seat, LostRank on_lost) const {
    return std::make_unique<Worker>(temp_.path(), options(seat, on_lost));
  }
  Membership chief(LostRank on_lost) const {
    return Membership(options(0, on_lost), [] { return false; });
  }
  std::unique_ptr<LockedDirectory> take(FileSystem& files = posix_file_system()) const {
    auto directory = files.open_directory(temp_.path());
    RunLock lock = RunLock::take(*directory, system_clock());
    return std::make_unique<LockedDirectory>(std::move(directory), std::move(lock));
  }
  static std::vector<int> seats(const RankMembers& group) {
    std::vector<int> all;
    for (const RankMembers::Member& m : group.members) all.push_back(m.seat);
    return all;
  }
  // Returns the marks of all ranks that wait for a group, by their seats. A rank that does not wait has an empty one.
  static std::vector<std::string> marks(const OpenDirectory& run, int seats) {
    const auto rendezvous = posix_file_system().open_directory(run.path() + "/" + std::string(kRendezvousName));
    std::vector<std::string> all;
    for (int seat = 0; seat < seats; ++seat) {
      const std::string name = "here-" + std::to_string(seat);
      all.push_back(rendezvous->exists(name) ? rendezvous->read(name, 1 << 16) : "");
    }
    return all;
  }
  static std::string first_read(const std::vector<std::string>& calls) {
    const auto found =
        std::find_if(calls.begin(), calls.end(), [](const auto& call) { return call.starts_with("read "); });
    return found == calls.end() ? "" : *found;
  }
  template <class F>
  static std::string error_of(F&& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  TempDir temp_;
  double wait_secs_ = 30;
  int min_ranks_ = 1;
};

// A job that is started again at once: a worker may be there before the chief, which removes the refusal.
TEST_F(MembershipTest, ARefusalOfThePreviousStartCountsOnlyIfNoChiefComes) {
  const std::int64_t before = system_clock().wall_ns();
  refuse_meeting(*take(), "no hook 'x'");
  const std::int64_t second = FakeClock::kSecond, after = system_clock().wall_ns() + second;
  FakeClock clock(after);
  WorkerSeat of_that_start(posix_file_system(), temp_.path(), 1, "stop", before - second, clock);
  EXPECT_EQ(error_of([&] { of_that_start.look(); }), "[B5103] rank 0 does not train: no hook 'x'");
  WorkerSeat of_the_next(posix_file_system(), temp_.path(), 1, "stop", after, clock);
  EXPECT_EQ(of_the_next.look(), "");
  clock.advance(10 * second);
  EXPECT_EQ(error_of([&] { of_the_next.look(); }), "[B5103] rank 0 does not train: no hook 'x'");
  WorkerSeat much_later(posix_file_system(), temp_.path(), 1, "stop", after + 20 * second, clock);
  EXPECT_EQ(much_later.look(), "");
}

TEST_F(MembershipTest, AtTheStartAllComeAndRanksAreThoseOfTheLauncher) {
  const auto run = take();
  Membership first = chief(LostRank::kContinue);
  const std::string name = begin_meeting(*run, 1);
  const auto one = worker(1, LostRank::kContinue), two = worker(2, LostRank::kContinue);
  auto joined = two->join(), other = one->join();
  const RankMembers group = first.form(*run, name);
  EXPECT_EQ(seats(group), (std::vector{0, 1, 2}));
  EXPECT_EQ(group.generation, 0);
  const RankMembers seen = joined.get();
  EXPECT_EQ(seen.members, group.members);
  EXPECT_EQ(seen.meeting, group.meeting);
  EXPECT_EQ(other.get().meeting, group.meeting);
  EXPECT_EQ(seen.rank_of({2, two->members.token()}), 2);
}

TEST_F(MembershipTest, WithoutALostRankTheNextGroupHasFewerAndCountsThemAnew) {
  const auto run = take();
  Membership first = chief(LostRank::kContinue);
  const std::string name = begin_meeting(*run, 1);
  auto one = worker(1, LostRank::kContinue);
  const auto two = worker(2, LostRank::kContinue);
  auto a = one->join(), b = two->join();
  const RankMembers group = first.form(*run, name);
  a.get();
  b.get();
  const auto rendezvous = run->open_directory(kRendezvousName);
  EXPECT_TRUE(Membership::holds(group, *rendezvous));
  one.reset();  // as a process that dies
  EXPECT_FALSE(Membership::holds(group, *rendezvous));
  b = two->join();
  const RankMembers next = first.form(*run, name);
  EXPECT_EQ(seats(next), (std::vector{0, 2}));
  EXPECT_EQ(next.generation, 1);
  EXPECT_NE(next.meeting, group.meeting);
  EXPECT_EQ(b.get().rank_of({2, two->members.token()}), 1);
}

// All processes are there, and see the directory.
TEST_F(MembershipTest, WhomTheChiefDidNotMeetIsLeftOutUntilAFurtherGroup) {
  wait_secs_ = 5;
  const auto run = take();
  Membership first = chief(LostRank::kContinue);
  const std::string name = begin_meeting(*run, 1);
  const auto one = worker(1, LostRank::kContinue), two = worker(2, LostRank::kContinue);
  auto a = one->join(), b = two->join();
  first.form(*run, name);
  a.get();
  b.get();
  first.note_not_met({1});
  one->members.note_not_met({0, 2});
  two->members.note_not_met({1});
  a = one->join();
  b = two->join();
  EXPECT_EQ(seats(first.form(*run, name)), (std::vector{0, 2}));
  EXPECT_EQ(b.get().rank_of({2, two->members.token()}), 1);
  EXPECT_EQ(a.wait_for(std::chrono::milliseconds(0)), std::future_status::timeout);
  b = two->join();
  EXPECT_EQ(seats(first.form(*run, name)), (std::vector{0, 1, 2})) << "it waits for a place";
  EXPECT_EQ(a.get().members, b.get().members);
}

// The chief reads a mark of rank 1 too late the first time: it must not decide by the marks of the others alone.
TEST_F(MembershipTest, OfTwoThatDidNotMeetEachOtherTheOneThatFewerMetIsLeftOut) {
  for (const bool third : {false, true}) {
    FaultyFileSystem files(posix_file_system());
    const auto run = take(files);
    std::vector<std::unique_ptr<Worker>> all;
    const auto with_four = [](Membership::Options o) {
      o.seats = 4;
      return o;
    };
    Membership first(with_four(options(0, LostRank::kContinue)), [] { return false; });
    const std::string name = begin_meeting(*run, third ? 2 : 1);
    std::vector<std::future<RankMembers>> joined;
    for (int seat = 1; seat < 4; ++seat) {
      all.push_back(std::make_unique<Worker>(temp_.path(), with_four(options(seat, LostRank::kContinue))));
      joined.push_back(all.back()->join());
    }
    first.form(*run, name);
    for (auto& j : joined) j.get();
    all[0]->members.note_not_met({2});
    if (third) all[2]->members.note_not_met({1});
    const std::vector<std::string> before = marks(*run, 4);
    for (std::size_t i = 0; i < 3; ++i) joined[i] = all[i]->join();
    for (int seat = 1; seat < 4; ++seat)
      while (marks(*run, 4)[static_cast<std::size_t>(seat)] == before[static_cast<std::size_t>(seat)])
        std::this_thread::yield();
    files.forget_calls();
    files.fail(FileCall::kRead, 1, Error(Code::kNotFound, "it is being written"));
    EXPECT_EQ(seats(first.form(*run, name)), third ? (std::vector{0, 2, 3}) : (std::vector{0, 1, 3}));
    EXPECT_THAT(first_read(files.calls()), EndsWith("here-1")) << "this one failed";
    end_meeting(*run);
    for (auto& j : joined) error_of([&] { j.get(); });
  }
}

TEST_F(MembershipTest, OneThatIsLeftOutSaysSoAndIsNotCountedByMinRanks) {
  wait_secs_ = 0.3;
  const auto run = take();
  Membership first = chief(LostRank::kContinue);
  const std::string name = begin_meeting(*run, 1);
  const auto one = worker(1, LostRank::kContinue), two = worker(2, LostRank::kContinue);
  auto a = one->join(), b = two->join();
  first.form(*run, name);
  a.get();
  b.get();
  first.note_not_met({2});
  a = one->join();
  b = two->join();
  first.form(*run, name);
  a.get();
  EXPECT_THAT(error_of([&] { b.get(); }),
              HasSubstr("[B5102] the other ranks continued without this one, which they did not reach"));
  min_ranks_ = 3;
  Membership other = chief(LostRank::kContinue);
  const std::string again = begin_meeting(*run, 2);
  const auto three = worker(1, LostRank::kContinue), four = worker(2, LostRank::kContinue);
  a = three->join(), b = four->join();
  other.form(*run, again);
  a.get();
  b.get();
  other.note_not_met({2});
  a = three->join();
  b = four->join();
  EXPECT_THAT(error_of([&] { other.form(*run, again); }),
              HasSubstr("rank 2 of 3 did not come, and those that are left are fewer than cluster.min_ranks = 3"));
  error_of([&] { a.get(); });
  error_of([&] { b.get(); });
}

TEST(RanksNotMet, AreThoseWithWhichTheErrorOfOpenBegins) {
  EXPECT_EQ(ranks_not_met("UNAVAILABLE: cluster \"gloo\" (gloo.so 1.0) in open: rank 1 of 3 did not come"),
            (std::vector{1}));
  EXPECT_EQ(ranks_not_met("cluster \"gloo\" in open at step 609: ranks 1, 12 of 13 did not come"),
            (std::vector{1, 12}));
  EXPECT_TRUE(ranks_not_met("cluster \"gloo\" in open: the interface 'eth7' is not there, rank 1").empty());
  EXPECT_TRUE(ranks_not_met("cluster \"gloo\" in all_reduce: rank 1 has ended or left").empty());
}

TEST_F(MembershipTest, WhoTakesTheSeatOfALostRankIsAnotherMember) {
  const auto run = take();
  Membership first = chief(LostRank::kWait);
  const std::string name = begin_meeting(*run, 1);
  auto one = worker(1, LostRank::kWait);
  const auto two = worker(2, LostRank::kWait);
  auto a = one->join(), b = two->join();
  const RankMembers group = first.form(*run, name);
  a.get();
  b.get();
  one.reset();
  b = two->join();
  auto next = std::async(std::launch::async, [&] { return first.form(*run, name); });
  EXPECT_EQ(next.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout) << "it waits for rank 1";
  one = worker(1, LostRank::kWait);
  a = one->join();
  const RankMembers again = next.get();
  EXPECT_EQ(seats(again), (std::vector{0, 1, 2}));
  EXPECT_FALSE(again.rank_of(group.members[1]));
  EXPECT_EQ(a.get().rank_of({1, one->members.token()}), 1);
  EXPECT_EQ(b.get().members, again.members);
}

TEST_F(MembershipTest, ThoseThatAreLeftFindTheChiefThatFollowsALostOne) {
  auto run = take();
  auto first = std::make_unique<Membership>(chief(LostRank::kWait));
  const auto one = worker(1, LostRank::kWait), two = worker(2, LostRank::kWait);
  auto a = one->join(), b = two->join();
  first->form(*run, begin_meeting(*run, 1));
  a.get();
  b.get();
  a = one->join();
  b = two->join();
  first.reset();
  run.reset();
  run = take();
  Membership second = chief(LostRank::kWait);
  const RankMembers group = second.form(*run, begin_meeting(*run, 2));
  EXPECT_EQ(seats(group), (std::vector{0, 1, 2}));
  EXPECT_EQ(a.get().members, group.members);
  EXPECT_EQ(b.get().members, group.members);
}

TEST_F(MembershipTest, WhoDoesNotComeIsNamedAtTheStart) {
  wait_secs_ = 0.2;
  const auto run = take();
  Membership first = chief(LostRank::kContinue);
  const std::string name = begin_meeting(*run, 1);
  EXPECT_THAT(error_of([&] { first.form(*run, name); }),
              HasSubstr("ranks 1, 2 of 3 did not come (cluster.max_wait_secs = 0.2)"));
  const auto one = worker(1, LostRank::kContinue);
  EXPECT_THAT(error_of([&] { one->join().get(); }),
              HasSubstr("rank 0 of 3 began no group with this rank within cluster.max_wait_secs = 0.2"));
}

TEST_F(MembershipTest, T_164_AnotherNumberOfRanksIsNamedByBothAtTheStart) {
  const auto run = take();
  Membership first = chief(LostRank::kWait);
  const std::string name = begin_meeting(*run, 1);
  Membership::Options of_four = options(1, LostRank::kWait);
  of_four.seats = 4;
  Worker one(temp_.path(), of_four);
  auto a = one.join();
  EXPECT_THAT(
      error_of([&] { first.form(*run, name); }),
      HasSubstr("[B5101] rank 1 was started as one of 4 ranks, and rank 0 as one of 3; start all ranks with the same"));
  EXPECT_THAT(
      error_of([&] { a.get(); }),
      HasSubstr("[B5101] rank 0 was started as one of 3 ranks, and rank 1 as one of 4; start all ranks with the same"));
}

TEST_F(MembershipTest, T_164_AReplacementWithAnotherNumberOfRanksEndsAndTheOthersWait) {
  const auto run = take();
  Membership first = chief(LostRank::kWait);
  const std::string name = begin_meeting(*run, 1);
  auto one = worker(1, LostRank::kWait);
  const auto two = worker(2, LostRank::kWait);
  auto a = one->join(), b = two->join();
  first.form(*run, name);
  a.get();
  b.get();
  one.reset();
  Membership::Options of_two = options(1, LostRank::kWait);
  of_two.seats = 2;
  EXPECT_THAT(error_of([&] { Worker(temp_.path(), of_two).join().get(); }),
              HasSubstr("[B5101] rank 0 was started as one of 3 ranks, and rank 1 as one of 2"));
  one = worker(1, LostRank::kWait);
  a = one->join();
  b = two->join();
  EXPECT_EQ(seats(first.form(*run, name)), (std::vector{0, 1, 2}));
  a.get();
  b.get();
}

TEST_F(MembershipTest, AWorkerWhoseChiefHasEndedTheRunDoesNotWait) {
  const auto run = take();
  Membership first = chief(LostRank::kWait);
  const auto one = worker(1, LostRank::kWait), two = worker(2, LostRank::kWait);
  auto a = one->join(), b = two->join();
  first.form(*run, begin_meeting(*run, 1));
  a.get();
  b.get();
  a = one->join();
  end_meeting(*run);
  EXPECT_THAT(error_of([&] { a.get(); }), HasSubstr("[B5102] rank 0 has ended the run"));
}

}  // namespace
}  // namespace belay::runtime::testing
