// SPDX-License-Identifier: Apache-2.0
// Membership finds the processes of the next group, in a run whose ranks may be lost. The chief names them in the
// rendezvous folder.
//
//   rendezvous/here-2    the process that the launcher started as rank 2 waits for a group; the file has the number of
//                        ranks that this process was given
//   rendezvous/group     the newest group: its generation, its meeting and its members
//
// If a launcher starts a process again, it has the same rank, its seat, but another token. So it is never taken for the
// previous process. A group counts its ranks anew in the order of the seats. The chief (seat 0) is always rank 0.
//
//   chief:   members.form(run, name)      waits for the others by the options, then names the group
//   worker:  members.join(seat)           waits until the chief has named a group that this process is in
//
// After a failure, or if a group could not meet, the remaining processes call both again. A process writes the ranks
// that it did not meet into its mark. With LostRank::kContinue the next group is without those. A new chief follows one
// that died. It begins another rendezvous, and the remaining processes find it there. [session thread], except holds()
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
    int seat = 0;  // the launcher gave it this rank
    std::uint64_t token = 0;
    friend bool operator==(const Member&, const Member&) = default;
  };
  std::string meeting;  // a new name for each group
  std::int64_t generation = 0;
  std::vector<Member> members;  // by rank

  std::optional<int> rank_of(const Member& member) const;
};

// Returns the ranks that the error of a cluster's open names: 1 and 2 for "... in open at step 7: ranks 1, 2 of 3 did
// not come".
std::vector<int> ranks_not_met(std::string_view error);

class Membership {
 public:
  struct Options {
    int seat = 0;
    int seats = 2;
    LostRank on_lost = LostRank::kWait;
    int min_ranks = 1;  // for kContinue
    double max_wait_secs = 300;
    double timeout_secs = 60;
  };
  Membership(const Options& options, std::function<bool()> stopping);

  // `name` is that of the rendezvous, from begin_meeting(). CANCELLED if the run is to stop. DEADLINE_EXCEEDED names
  // the missing ranks. INVALID_ARGUMENT if a process was given another number of ranks before the first group. At the
  // start all have to come. Later the remaining ones are enough (kContinue): each other one has ended, is cut off, or
  // has not come for timeout_secs.
  RankMembers form(OpenDirectory& run, const std::string& name);
  // CANCELLED; DEADLINE_EXCEEDED if no group came in max_wait_secs; NOT_FOUND if the chief has ended the run;
  // INVALID_ARGUMENT if the chief was given another number of ranks; RunInUse.
  RankMembers join(WorkerSeat& seat, FileSystem& files);
  // This process did not meet these ranks of the group that form() or join() returned last.
  void note_not_met(const std::vector<int>& ranks);
  // Whether the group should still meet: no member has ended, and there is no newer group. Any thread may call it.
  static bool holds(const RankMembers& group, const OpenDirectory& rendezvous);

  // The token of this process.
  std::uint64_t token() const noexcept { return token_; }

 private:
  struct Look;
  Look look_at(const OpenDirectory& rendezvous) const;
  void note_here(OpenDirectory& rendezvous) const;
  [[noreturn]] void fail_other_size(int seat, int seats) const;
  std::vector<int> cut_off(const Look& look) const;
  bool is_enough(const Look& look, double waited_secs) const;
  [[noreturn]] void fail_missing(const Look& look) const;
  void check_stopping() const;

  const Options options_;
  const std::function<bool()> stopping_;
  const std::uint64_t token_;
  RankMembers last_;        // the last group that this process was in; no members: it was in none
  std::vector<int> unmet_;  // seats of last_ that this process did not meet
  std::int64_t next_ = 0;   // the generation that it forms, or waits for, next
  std::string rendezvous_;  // a worker's: the rendezvous of last_ and next_
};

}  // namespace belay::runtime
