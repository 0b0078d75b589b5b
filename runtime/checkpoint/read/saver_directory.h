// SPDX-License-Identifier: Apache-2.0
// The directory of a saver or an exporter: the service "files" of the host, during one write or read. All bytes are
// counted and checksummed in both directions. Small writes are gathered, and a file is synced before it closes. The
// saver sees none of that.
//
//   SaverDirectory files = SaverDirectory::for_writing(directory);
//   table->write(self, files.handle(), ...);
//   index.files = files.written();
//
// [session] Use it from one thread at a time, like the directory below it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/abi.h"
#include "runtime/checkpoint/format/index.h"
#include "runtime/checkpoint/format/read_checksums.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

// Returns the table of the service "files". It lives as long as the process.
const belay_files_api* files_service() noexcept;

class SaverFile;

class SaverDirectory {
 public:
  // `directory` must outlive the object. It only allows new files, under names that are not the host's (is_hosts_file).
  static SaverDirectory for_writing(OpenDirectory& directory);
  // It has only these files.
  static SaverDirectory for_reading(const OpenDirectory& directory, std::vector<std::string> names);
  // Reads one foreign file, `name`. It replaces the name with the same ending that the saver opens. If no ending is
  // equal, it replaces the first one. Later files of the saver may be beside it with their names, or with the same
  // start of the name: "model.data-0" of "model.index" is "x.data-0" of "x.index".
  static SaverDirectory for_reading_one(const OpenDirectory& directory, std::string name);
  SaverDirectory(SaverDirectory&&) = delete;  // the saver has its address
  ~SaverDirectory();

  belay_dir* handle() noexcept { return reinterpret_cast<belay_dir*>(this); }

  // Returns the saver's files after it has written. Throws the first error of any call on them, even if the saver
  // ignored it. A file left open and no file at all are errors, too.
  std::vector<FileEntry> written() const;
  // Called after the saver has read. Returns the CRC32C that the file, or memory with the files' content, had then.
  // None: the saver did not read it whole, or not straight into that memory.
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
  std::vector<std::string> names_;  // files that may be opened
  bool alias_;
  // The start of the saver's names, and of the names that replace them, after the one file was opened.
  std::string begin_, begin_by_others_;
  std::vector<std::unique_ptr<SaverFile>> open_;
  std::vector<std::unique_ptr<SaverFile>> gone_;  // closed; a saver may still name them
  std::vector<FileEntry> closed_;
  ReadChecksums read_;  // by the indices in names_
  std::unique_ptr<Error> failure_;
};

// INTERNAL: there is more in the directory than these files. An entry that came past the host's service has no
// checksum, and was not synced.
void check_left(const OpenDirectory& directory, const std::vector<FileEntry>& files);

}  // namespace belay::runtime
