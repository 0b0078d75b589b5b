// SPDX-License-Identifier: Apache-2.0
// Where the processes of a run meet: the folder "rendezvous" of its directory.
//
//   rendezvous/attempt    the name of this attempt's meeting, and what the chief does if a rank is lost; the chief
//                         writes it while it holds the run's lock
//   rendezvous/seat-1     locked by the process that is rank 1
//   rendezvous/NAME/      the cluster plugin's own
//   rendezvous/here-1, rendezvous/group    membership.h, where ranks may be lost
//   rendezvous-refused                     beside it: why the chief did not begin, for the workers that wait
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
#include <string_view>
#include <utility>

#include "runtime/checkpoint/directory/locked_directory.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

inline constexpr std::string_view kRendezvousName = "rendezvous";

std::string seat_name(int rank);

// That was never used: "attempt-3-8f0c...".
std::string new_meeting(std::int64_t attempt);
// The same; removes what an earlier attempt left, and writes it where the workers look. `on_lost`: the manifest's word,
// by which ranks meet in one way or another.
std::string begin_meeting(LockedDirectory& run, std::int64_t attempt, std::string_view on_lost = "stop");
// A chief's that does not begin, since something is wrong that does not pass: workers that wait end with the reason.
void refuse_meeting(LockedDirectory& run, const std::string& reason);
// Where it was.
void end_meeting(LockedDirectory& run) noexcept;

// A worker's. [main]
class WorkerSeat {
 public:
  // `run`: the run's directory, which the chief may still have to make.
  // `begun_ns`: when the process began, by the wall clock. A refusal from before may be one of the previous start. It
  // counts only if no chief removes it in the first 10 s, and not at all if it is older than 10 s.
  WorkerSeat(FileSystem& files, std::string run, int rank, std::string on_lost = "stop", std::int64_t begun_ns = 0,
             const Clock& clock = system_clock())
      : files_(files),
        run_(std::move(run)),
        rank_(rank),
        on_lost_(std::move(on_lost)),
        begun_ns_(begun_ns),
        clock_(clock) {}

  // The name of the meeting that is under way; empty: none so far. Takes the seat. RunInUse where a process has it;
  // INVALID_ARGUMENT if the chief does something else if a rank is lost; FAILED_PRECONDITION with the reason of a
  // chief that has refused.
  std::string look();
  // Whether the name is still the one that look() returned, and no chief has refused. Any thread.
  bool is_current(const std::string& name) const;
  std::string directory() const { return run_ + "/" + std::string(kRendezvousName); }

 private:
  struct Begun {
    std::string name, on_lost;
  };
  Begun read() const;
  std::string refusal() const;

  FileSystem& files_;
  const std::string run_;
  const int rank_;
  const std::string on_lost_;
  const std::int64_t begun_ns_;
  const Clock& clock_;
  std::string name_;
  std::unique_ptr<OpenFile> lock_;
};

}  // namespace belay::runtime
