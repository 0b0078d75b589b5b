// SPDX-License-Identifier: Apache-2.0
// Reads an event file. Use it from one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/events/proto/event.pb.h"
#include "runtime/events/record_reader.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

class EventReader {
 public:
  explicit EventReader(std::unique_ptr<OpenFile> file) : file_(std::move(file)), records_(*file_) {}

  // Works like RecordReader::next. DATA_LOSS: a record is no Event. The next call skips it.
  bool next(pb::Event& event);
  // Returns the start of the next record.
  std::uint64_t offset() const noexcept { return records_.offset(); }
  const std::string& path() const { return file_->path(); }

 private:
  std::unique_ptr<OpenFile> file_;
  RecordReader records_;
  std::string record_;
};

}  // namespace belay::runtime
