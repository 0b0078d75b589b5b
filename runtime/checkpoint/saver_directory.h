// SPDX-License-Identifier: Apache-2.0
// The directory that a saver or an exporter gets: service "files" of the host, for the time of one write or read.
// Whatever passes, either way, is counted and checksummed, small writes are gathered, and a file is synced before it
// closes; the saver sees none of that.
//
//   SaverDirectory files = SaverDirectory::for_writing(directory);
//   table->write(self, files.handle(), ...);
//   index.files = files.written();
//
// [session] One thread at a time, as the directory below it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/abi.h"
#include "runtime/checkpoint/index.h"
#include "runtime/checkpoint/read_checksums.h"
#include "runtime/platform/file_system.h"

namespace belay::runtime {

// The table of service "files". Lives as long as the process.
const belay_files_api* files_service() noexcept;

class SaverFile;

class SaverDirectory {
 public:
  // `directory` must outlive the object. New files only, under names that are not the host's
  // (is_hosts_file).
  static SaverDirectory for_writing(OpenDirectory& directory);
  // Only these files are there.
  static SaverDirectory for_reading(const OpenDirectory& directory, std::vector<std::string> names);
  // One file from another program, `name`: it is opened for the name of the same ending that the saver opens, or where
  // none has it for the first one. What the saver opens then may lie beside it, with the same begin of the name
  // ("model.data-0" of "model.index" is "x.data-0" of "x.index"), or as it is called.
  static SaverDirectory for_reading_one(const OpenDirectory& directory, std::string name);
  SaverDirectory(SaverDirectory&&) = delete;  // the saver holds its address
  ~SaverDirectory();

  belay_dir* handle() noexcept { return reinterpret_cast<belay_dir*>(this); }

  // After the saver has written: its files. Throws the first error that any call on them had, even where the saver took
  // no notice; a file left open and no file at all are errors too.
  std::vector<FileEntry> written() const;
  // After the saver has read: the CRC32C of the file, or of memory that files were read into, as it was then. None
  // where the saver did not read it whole, or not straight into that memory.
  std::optional<std::uint32_t> read_checksum(std::string_view file, std::uint64_t size) const;
  std::optional<std::uint32_t> read_checksum(const void* memory, std::uint64_t size) const {
    return read_.of_memory(memory, size);
  }

 private:
  friend class SaverFile;
  friend struct FilesService;
  SaverDirectory(OpenDirectory* writable, const OpenDirectory& directory, std::vector<std::string> names, bool alias);

  SaverFile* create(std::string_view name);
  SaverFile* open(std::string_view name);
  std::string name_by_others(std::string_view name);
  std::size_t number_of(std::string_view name) const;
  void close(SaverFile* file);
  void note_failure(const Error& e);

  OpenDirectory* writable_;  // null: for reading
  const OpenDirectory& directory_;
  std::vector<std::string> names_;  // that may be opened
  bool alias_;
  // The begin of the saver's names, and of those that stand for them, once the one file was opened.
  std::string begin_, begin_by_others_;
  std::vector<std::unique_ptr<SaverFile>> open_;
  std::vector<std::unique_ptr<SaverFile>> gone_;  // closed; a saver may still name them
  std::vector<FileEntry> closed_;
  ReadChecksums read_;  // by the places in names_
  std::unique_ptr<Error> failure_;
};

// INTERNAL where there is more in the directory than these files: what came into it past the host's service has no
// checksum, and was not synced.
void check_left(const OpenDirectory& directory, const std::vector<FileEntry>& files);

}  // namespace belay::runtime
