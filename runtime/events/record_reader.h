// SPDX-License-Identifier: Apache-2.0
// Reads a record file (record_writer.h), also one that still grows.
//
//   RecordReader reader(*file);
//   std::string record;
//   while (reader.next(record)) ...
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/platform/file_system.h"

namespace belay::runtime {

class RecordReader {
 public:
  // `file` must outlive the reader.
  explicit RecordReader(const OpenFile& file) : file_(file) {}

  // False where the file ends before the next record does: a writer may be in the middle of it, and a later call finds
  // it. A wrong checksum is DATA_LOSS with file and offset. Damaged data is skipped by the next call; after a damaged
  // length nothing that follows can be found, so every later call fails the same way.
  bool next(std::string& record);
  // Where the next record begins.
  std::uint64_t offset() const noexcept { return offset_; }

 private:
  const OpenFile& file_;
  std::uint64_t offset_ = 0;
};

}  // namespace belay::runtime
