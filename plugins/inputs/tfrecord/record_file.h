// SPDX-License-Identifier: Apache-2.0
// A TFRecord file, plain or gzip: which records it has, and each by its number.
//
// A plain file is mapped and not read; of a gzip file the whole content is kept in memory, since it can be read from
// its start only. Opening goes through the records' lengths and their checksums; a record's own checksum is tested each
// time that it is asked for.
#pragma once

#include <belay/mapped_file.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tfrecord_input {

class RecordFile {
 public:
  // DATA_LOSS with file and record where the file is cut short or damaged; FAILED_PRECONDITION where it has no record.
  RecordFile(std::string_view option, const std::string& path);

  std::int64_t records() const { return static_cast<std::int64_t>(begins_.size()); }
  // Valid as long as this object. DATA_LOSS where its checksum is wrong. Any thread.
  std::string_view record(std::int64_t number) const;
  // "'path' record 7" for messages; records count from 0.
  std::string place(std::int64_t number) const;

 private:
  void find_records();

  std::string_view bytes() const { return unpacked_.empty() ? file_.bytes() : std::string_view(unpacked_); }

  std::string path_;
  std::string unpacked_;               // of a gzip file
  belay::MappedFile file_;             // of a plain one
  std::vector<std::uint64_t> begins_;  // of the records' headers
};

}  // namespace tfrecord_input
