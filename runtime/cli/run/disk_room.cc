// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/run/disk_room.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/checkpoint/format/names.h"
#include "runtime/cli/text/text_table.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

DiskRoom disk_room(PreparedRun& run) {
  DiskRoom room;
  const NodeGraph& graph = run.model.graph;
  for (const Port& p : graph.collection(collections::kGlobalVariables)) {
    const auto& [dtype, shape] = graph.spec(p);
    room.checkpoint += static_cast<std::uint64_t>(std::max<std::int64_t>(shape.elements(), 0)) * dtype_size(dtype);
  }
  if (const auto& saver = run.host.saver()) room.checkpoint += saver->memory().hooks;
  const CheckpointSettings& settings = run.manifest.checkpoint;
  room.kept = settings.max_to_keep;
  room.directory = run.manifest.run.dir;
  if (!run.host.has_directory() || !saves_by_itself(settings)) return room;
  try {
    const auto directory = run.host.files().open_directory(room.directory);
    for (const std::string& name : directory->entries())
      if (const auto checkpoint = parse_checkpoint_name(name); checkpoint && checkpoint->basename == settings.basename)
        ++room.there;
    if (const std::uint64_t free = run.host.files().free_bytes(room.directory); free > 0) room.free = free;
  } catch (const Error&) {
    // The free space is not known.
  }
  return room;
}

void require_room(const DiskRoom& room) {
  if (!room.free || *room.free >= room.checkpoint) return;
  fail(Code::kResourceExhausted,
       "[B5016] the disk of " + single_quoted(room.directory) + " has " + bytes_text(*room.free) +
           " free, and a checkpoint of this model takes " + bytes_text(room.checkpoint) +
           ": no checkpoint could be kept; free some room, or train without checkpoints by --allow-full-disk");
}

std::string tight_disk(const DiskRoom& room) {
  if (!room.free || *room.free < room.checkpoint) return "";
  const std::int64_t to_come = std::max<std::int64_t>(2, room.kept + 1 - room.there);
  const std::uint64_t needed = room.checkpoint * static_cast<std::uint64_t>(to_come);
  if (*room.free >= needed) return "";
  return fmt::format(
      "the disk of {} has {} free, and {} more checkpoints take {}: free some, or lower max_to_keep of [checkpoint]",
      single_quoted(room.directory), bytes_text(*room.free), to_come, bytes_text(needed));
}

}  // namespace belay::runtime
