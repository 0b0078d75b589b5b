// SPDX-License-Identifier: Apache-2.0
// Reads the records of a TFRecord file, plain or gzip, by number.
//
// A plain file is mapped and not read. The whole content of a gzip file is kept in memory, since it can be read only
// from its start. Opening checks the records' lengths and their checksums. A record's checksum is checked at each read.
#pragma once

#include <belay/mapped_file.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tfrecord_input {

class RecordFile {
 public:
  // DATA_LOSS names file and record: the file is cut short or damaged. FAILED_PRECONDITION: it has no record.
  RecordFile(std::string_view option, const std::string& path);

  std::int64_t records() const { return static_cast<std::int64_t>(begins_.size()); }
  // Returns a view that is valid as long as this object. DATA_LOSS: its checksum is wrong. Call it from any thread.
  std::string_view record(std::int64_t number) const;
  // Returns "'path' record 7" for messages; records count from 0.
  std::string place(std::int64_t number) const;

 private:
  void find_records();

  std::string_view bytes() const { return unpacked_.empty() ? file_.bytes() : std::string_view(unpacked_); }

  std::string path_;
  std::string unpacked_;               // of a gzip file
  belay::MappedFile file_;             // of a plain one
  std::vector<std::uint64_t> begins_;  // offsets of the records' headers
};

}  // namespace tfrecord_input
