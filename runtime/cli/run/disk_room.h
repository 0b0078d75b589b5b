// SPDX-License-Identifier: Apache-2.0
// Whether the disk has room for what a training will keep, known before its first step.
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
  std::uint64_t checkpoint = 0;       // bytes of one; without the files' own few kilobytes
  std::int64_t kept = 0;              // so many are kept; 0: all
  std::int64_t there = 0;             // of this run, already
  std::optional<std::uint64_t> free;  // none: not known, or the run keeps nothing
};

// After the graph of the PreparedRun is built; the directory exists.
DiskRoom disk_room(PreparedRun& run);

// RESOURCE_EXHAUSTED with what helps, if the disk has no room for one checkpoint.
void require_room(const DiskRoom& room);

// A warning if one fits, and fewer than two, or fewer than are still to come; one more is written before the oldest
// is removed. Empty: there is room, or it is not known.
std::string tight_disk(const DiskRoom& room);

}  // namespace belay::runtime
