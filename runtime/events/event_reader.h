// SPDX-License-Identifier: Apache-2.0
// Reads an event file. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/events/proto/event.pb.h"
#include "runtime/events/record_reader.h"
#include "runtime/platform/file_system.h"

namespace belay::runtime {

class EventReader {
 public:
  explicit EventReader(std::unique_ptr<OpenFile> file) : file_(std::move(file)), records_(*file_) {}

  // As RecordReader::next; a record that is no Event is DATA_LOSS too, and skipped by the next call.
  bool next(pb::Event& event);
  // Where the next record begins.
  std::uint64_t offset() const noexcept { return records_.offset(); }
  const std::string& path() const { return file_->path(); }

 private:
  std::unique_ptr<OpenFile> file_;
  RecordReader records_;
  std::string record_;
};

}  // namespace belay::runtime
