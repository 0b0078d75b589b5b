// SPDX-License-Identifier: Apache-2.0
// All that the event files of a run hold, in order: files by their names, which is how TensorBoard reads them, records
// as they were written. A folder below with event files (`eval`) is a run for itself, as TensorBoard has it.
//
// A file that ends within a record (its run writes on, or was killed) is read up to there. A record with a wrong
// checksum is left out, and where its length is wrong, what follows in that file too. Each is a problem with file and
// byte; the other files are read all the same.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/events/event_value.h"
#include "runtime/platform/file_system.h"

namespace belay::runtime {

struct EventPoint {
  std::size_t run = 0;  // in ReadEvents::runs
  int attempt = 1;      // of the run: a file that has a START begins the next one
  std::int64_t step = 0;
  double wall_time = 0;  // seconds since 1970
  EventValue value;
  // A later attempt went on from before this step, so the run did it again: TensorBoard shows the later one.
  bool redone = false;
};

struct EventProblem {
  std::string text;
  bool damage = false;  // false: the file ends within a record
};

struct ReadEvents {
  std::vector<std::string> runs;  // "." and folders below, those with event files
  std::vector<EventPoint> points;
  std::vector<EventProblem> problems;
};

// What is wanted of them; the others are not kept.
using WantedEvent = std::function<bool(const EventValue& value, std::int64_t step)>;

// Of a directory or of one file. NOT_FOUND where there is none, or no event file in it.
ReadEvents read_events(FileSystem& files, const std::string& path, const WantedEvent& wanted,
                       EventContents contents = EventContents::kDescribed);

}  // namespace belay::runtime
