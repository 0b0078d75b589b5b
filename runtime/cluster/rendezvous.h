// SPDX-License-Identifier: Apache-2.0
// Where the processes of a run meet: the folder "rendezvous" of its directory.
//
//   rendezvous/attempt    the name of this attempt's meeting; the chief writes it while it holds the run's lock
//   rendezvous/seat-1     locked by the process that is rank 1; the chief has seat-0
//   rendezvous/NAME/      the cluster plugin's own
//   rendezvous/here-1, rendezvous/group    membership.h, where ranks may be lost
//
// Where the plugin has an option "rendezvous" and the manifest sets it, they meet there and none of this is made: the
// plugin passes the name on, and workers open with an empty one.
//
// A killed run leaves all of it behind, so a worker that came before its chief may read an old name: it reads again
// while it waits, and begins anew when the name changes. Two jobs in one directory: the second chief finds the run's
// lock taken, the second worker its seat.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/locked_directory.h"
#include "runtime/platform/file_system.h"

namespace belay::runtime {

inline constexpr std::string_view kRendezvousName = "rendezvous";

std::string seat_name(int rank);
// "rank 2", "ranks 1 and 2", "ranks 1, 2 and 3"
std::string ranks_text(const std::vector<int>& ranks);

// That was never used: "attempt-3-8f0c...".
std::string new_meeting(std::int64_t attempt);
// The same; removes what an earlier attempt left, and writes it where the workers look.
std::string begin_meeting(LockedDirectory& run, std::int64_t attempt);
// Where it was.
void end_meeting(LockedDirectory& run) noexcept;
// Of the others those whose seats are free in the run's directory, as rank `rank` of `size` sees it; the chief alone
// where there is none, since all wait for that one first. Any thread.
std::vector<int> missing_ranks(FileSystem& files, const std::string& run, int rank, int size);

// A worker's. [main]
class WorkerSeat {
 public:
  // `run`: the run's directory, which the chief may still have to make.
  WorkerSeat(FileSystem& files, std::string run, int rank) : files_(files), run_(std::move(run)), rank_(rank) {}

  // The name of the meeting that is under way; empty: none so far. Takes the seat. RunInUse where a process has it.
  std::string look();
  // Whether the name is still the one that look() returned. Any thread.
  bool is_current(const std::string& name) const;
  std::string directory() const { return run_ + "/" + std::string(kRendezvousName); }

 private:
  std::string read() const;

  FileSystem& files_;
  const std::string run_;
  const int rank_;
  std::string name_;
  std::unique_ptr<OpenFile> lock_;
};

}  // namespace belay::runtime
