// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/membership.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>

#include "belay/error.h"
#include "runtime/checkpoint/locked_directory.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime::testing {
namespace {

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
  std::unique_ptr<LockedDirectory> take() const {
    auto directory = posix_file_system().open_directory(temp_.path());
    RunLock lock = RunLock::take(*directory, system_clock());
    return std::make_unique<LockedDirectory>(std::move(directory), std::move(lock));
  }
  static std::vector<int> seats(const RankMembers& group) {
    std::vector<int> all;
    for (const RankMembers::Member& m : group.members) all.push_back(m.seat);
    return all;
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
  EXPECT_THAT(error_of([&] { a.get(); }), HasSubstr("rank 0 has ended the run"));
}

}  // namespace
}  // namespace belay::runtime::testing
