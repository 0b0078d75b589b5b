// SPDX-License-Identifier: Apache-2.0
// Whether the disk has room for the files of a training, before its first step.
//
//   const DiskRoom room = disk_room(run);
//   require_room(room);                                   // not even one checkpoint fits
//   if (const std::string why = tight_disk(room); !why.empty()) log.warning("", why);
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/estimator/run/prepared_run.h"

namespace belay::runtime {

struct DiskRoom {
  std::string directory;
  std::uint64_t checkpoint = 0;       // bytes of one, without the few kilobytes around the values
  std::int64_t kept = 0;              // so many are kept; 0: all
  std::int64_t there = 0;             // of this run, already
  std::optional<std::uint64_t> free;  // none: not known, or the run keeps nothing
};

// Call it after the graph of the PreparedRun is built; the directory exists.
DiskRoom disk_room(PreparedRun& run);

// RESOURCE_EXHAUSTED with the remedy, if the disk has no room for one checkpoint.
void require_room(const DiskRoom& room);

// Returns a warning if one checkpoint fits, but not two, or not all that will follow. One more is written before the
// oldest is removed. Empty: there is room, or it is not known.
std::string tight_disk(const DiskRoom& room);

}  // namespace belay::runtime
