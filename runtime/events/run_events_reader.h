// SPDX-License-Identifier: Apache-2.0
// Reads all content of a run's event files, in order: files by their names, as in TensorBoard, records as they were
// written. A folder below with event files (`eval`) is a separate run, as in TensorBoard.
//
// A file may end within a record, since its run still writes or was killed. It is read up to there. A record with a
// wrong checksum is left out. After a wrong length, the rest of that file is left out, too. Each is a problem with file
// and byte. The other files are still read.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/events/event_value.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

struct EventPoint {
  std::size_t run = 0;  // index in ReadEvents::runs
  int attempt = 1;      // of the run: a file with a START begins the next one
  std::int64_t step = 0;
  double wall_time = 0;  // seconds since 1970
  EventValue value;
  // A later attempt continued from before this step, so the run made the step again. TensorBoard shows the later one.
  bool redone = false;
};

struct EventProblem {
  std::string text;
  bool damage = false;  // false: the file ends within a record
};

struct ReadEvents {
  std::vector<std::string> runs;  // "." and folders below that have event files
  std::vector<EventPoint> points;
  std::vector<EventProblem> problems;
};

// Selects the wanted events. The others are not kept.
using WantedEvent = std::function<bool(const EventValue& value, std::int64_t step)>;

// Reads a directory or one file. NOT_FOUND: there is none, or it has no event file.
ReadEvents read_events(FileSystem& files, const std::string& path, const WantedEvent& wanted,
                       EventContents contents = EventContents::kDescribed);

}  // namespace belay::runtime
