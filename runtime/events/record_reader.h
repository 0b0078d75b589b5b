// SPDX-License-Identifier: Apache-2.0
// Reads a record file (record_writer.h), even while it grows.
//
//   RecordReader reader(*file);
//   std::string record;
//   while (reader.next(record)) ...
//
// Use it from one thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

class RecordReader {
 public:
  // `file` must outlive the reader.
  explicit RecordReader(const OpenFile& file) : file_(file) {}

  // False if the file ends before the next record does. A writer may be in the middle of it, and a later call finds it.
  // DATA_LOSS names file and offset: a checksum is wrong. The next call skips damaged data. After a damaged length the
  // following records cannot be found, so every later call fails the same way.
  bool next(std::string& record);
  // Returns the start of the next record.
  std::uint64_t offset() const noexcept { return offset_; }

 private:
  const OpenFile& file_;
  std::uint64_t offset_ = 0;
};

}  // namespace belay::runtime
