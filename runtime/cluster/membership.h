// SPDX-License-Identifier: Apache-2.0
// Which processes are the next group of a run whose ranks may be lost: its chief says so, in the rendezvous folder.
//
//   rendezvous/here-2    the process that the launcher started as rank 2 waits for a group, and how many ranks it was
//                        told that there are
//   rendezvous/group     the newest group: its generation, its meeting, and who is in it
//
// A process that a launcher starts anew has its rank, its seat, and another token, so that nobody takes it for the one
// before. Ranks of a group are counted anew, in the order of the seats: the chief (seat 0) is always rank 0.
//
//   chief:   members.form(run, name)      waits for the others as the options say, then names the group
//   worker:  members.join(seat)           waits until the chief has named a group that this process is in
//
// After a failure both are called again, by those that are left; so is it when a group could not meet. Whom a process
// did not meet then it writes into its mark, and with LostRank::kContinue the next group is without those. A chief that
// died is followed by a new one, which begins a rendezvous of its own, where those that are left find it. [session
// thread], but for holds()
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cluster/rendezvous.h"
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

struct RankMembers {
  struct Member {
    int seat = 0;  // the rank that the launcher gave
    std::uint64_t token = 0;
    friend bool operator==(const Member&, const Member&) = default;
  };
  std::string meeting;  // never used before
  std::int64_t generation = 0;
  std::vector<Member> members;  // by rank

  std::optional<int> rank_of(const Member& member) const;
};

// Of the error of a cluster's open, "... in open at step 7: ranks 1, 2 of 3 did not come": those ranks.
std::vector<int> ranks_not_met(std::string_view error);

class Membership {
 public:
  struct Options {
    int seat = 0;
    int seats = 2;
    LostRank on_lost = LostRank::kWait;
    int min_ranks = 1;  // of kContinue
    double max_wait_secs = 300;
    double timeout_secs = 60;
  };
  Membership(const Options& options, std::function<bool()> stopping);

  // `name`: of the rendezvous, as begin_meeting() returned it. CANCELLED where the run is to stop; DEADLINE_EXCEEDED
  // with who is missing; INVALID_ARGUMENT if one was told another number of ranks before there was a group. At the
  // start all have to come. Later those that are left are enough (kContinue), as soon as each of the others is known to
  // have ended, or to be cut off, or has not come for timeout_secs.
  RankMembers form(OpenDirectory& run, const std::string& name);
  // CANCELLED; DEADLINE_EXCEEDED where no group came in max_wait_secs; NOT_FOUND where the chief has ended the run;
  // INVALID_ARGUMENT if the chief was told another number of ranks; RunInUse.
  RankMembers join(WorkerSeat& seat, FileSystem& files);
  // Ranks of the group that form() or join() returned last, which this process did not meet.
  void note_not_met(const std::vector<int>& ranks);
  // Whether a group that is about to meet is still the one to meet: no member has ended, and there is no newer one. Any
  // thread.
  static bool holds(const RankMembers& group, const OpenDirectory& rendezvous);

  // Of this process.
  std::uint64_t token() const noexcept { return token_; }

 private:
  struct Look;
  Look look_at(const OpenDirectory& rendezvous) const;
  void note_here(OpenDirectory& rendezvous) const;
  [[noreturn]] void fail_other_size(int seat, int seats) const;
  std::vector<int> cut_off(const OpenDirectory& rendezvous) const;
  bool is_enough(const Look& look, double waited_secs) const;
  [[noreturn]] void fail_missing(const Look& look) const;
  void check_stopping() const;

  const Options options_;
  const std::function<bool()> stopping_;
  const std::uint64_t token_;
  RankMembers last_;        // that this process was in; no members: none
  std::vector<int> unmet_;  // seats of that one, which this process did not meet
  std::int64_t next_ = 0;   // the generation that is formed, or waited for, next
  std::string rendezvous_;  // a worker's: that of last_ and next_
};

}  // namespace belay::runtime
