// SPDX-License-Identifier: Apache-2.0
// The processes of a run meet in the folder "rendezvous" of its directory.
//
//   rendezvous/attempt    the name of this attempt's meeting, and what the chief does if a rank is lost; the chief
//                         writes it while it holds the run's lock
//   rendezvous/seat-1     the process of rank 1 locks it
//   rendezvous/NAME/      the cluster plugin's own
//   rendezvous/here-1, rendezvous/group    see membership.h; only if ranks may be lost
//   rendezvous-refused                     next to the folder: why the chief did not begin, for workers that wait
//
// If the plugin has an option "rendezvous" and the manifest sets it, they meet there. None of these files is made then:
// the plugin passes the name on, and workers open with an empty one.
//
// A killed run leaves all of these files, so a worker that came before its chief may read an old name. It reads again
// while it waits, and begins anew when the name changes. If two jobs use one directory, the second chief finds the
// run's lock taken, and the second worker its seat.
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

// Returns a name that was never used: "attempt-3-8f0c...".
std::string new_meeting(std::int64_t attempt);
// Returns such a name after it has removed the files of an earlier attempt and written the name for the workers.
// `on_lost` is the manifest's word. The ranks meet differently by it.
std::string begin_meeting(LockedDirectory& run, std::int64_t attempt, std::string_view on_lost = "stop");
// A chief calls it if it does not begin, because of a lasting error. Workers that wait end with the reason.
void refuse_meeting(LockedDirectory& run, const std::string& reason);
// Removes the folder, if it exists.
void end_meeting(LockedDirectory& run) noexcept;

// A worker uses it to find the meeting. [main]
class WorkerSeat {
 public:
  // `run` is the run's directory, which the chief may still have to make.
  // `begun_ns` is the start of the process by the wall clock. An older refusal may be of the previous start. It counts
  // only if no chief removes it in the first 10 s, and not at all if it came more than 10 s before `begun_ns`.
  WorkerSeat(FileSystem& files, std::string run, int rank, std::string on_lost = "stop", std::int64_t begun_ns = 0,
             const Clock& clock = system_clock())
      : files_(files),
        run_(std::move(run)),
        rank_(rank),
        on_lost_(std::move(on_lost)),
        begun_ns_(begun_ns),
        clock_(clock) {}

  // Returns the name of the present meeting, or an empty string if none has begun. It takes the seat. RunInUse if a
  // process has the seat; INVALID_ARGUMENT if the chief has another `on_lost`; FAILED_PRECONDITION with the reason of a
  // chief that has refused.
  std::string look();
  // Whether the meeting still has this name, and no chief has refused. Any thread may call it.
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
