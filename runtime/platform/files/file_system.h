// SPDX-License-Identifier: Apache-2.0
// Files for the runtime: a seam, so that tests inject faults at any call (tests/platform/faulty_file_system.h).
//
// All writes to a run directory use it: checkpoints, event files, the lock. Directories are opened once, and entries
// are named inside them (openat), so a renamed parent does not matter. The name of an entry is one part of a path: not
// empty, no '/', not "." or "..". A symbolic link as the last part is never followed.
//
// All calls retry EINTR and short transfers. An error is belay::Error, `cannot create '/a/b': No space left on device`:
//
//   NOT_FOUND            ENOENT
//   ALREADY_EXISTS       EEXIST, ENOTEMPTY
//   PERMISSION_DENIED    EACCES, EPERM, EROFS
//   RESOURCE_EXHAUSTED   ENOSPC, EDQUOT, EFBIG, EMFILE, ENFILE, ENOMEM
//   FAILED_PRECONDITION  another kind of file than the call needs: ENOTDIR, EISDIR, ELOOP, EXDEV, EBUSY, ETXTBSY, ENXIO
//   INVALID_ARGUMENT     a bad name, ENAMETOOLONG
//   DATA_LOSS            EIO, a file that is shorter than it should be
//   INTERNAL             the rest; EBADF and EINVAL are bugs of ours
//
// Use directories and the file system from any thread, a file from one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belay::runtime {

enum class FileKind { kFile, kDirectory, kSymlink, kOther };

struct FileStatus {
  FileKind kind = FileKind::kOther;
  std::uint64_t size = 0;
  std::uint64_t device = 0, inode = 0;
  std::uint32_t mode = 0;  // permission bits with the sticky bit
  std::uint32_t owner = 0;
  std::int64_t modified_ns = 0;
};

// An open regular file. The destructor closes it. close() reports errors and comes last.
class OpenFile {
 public:
  virtual ~OpenFile() = default;
  virtual const std::string& path() const = 0;
  virtual void write(const void* data, std::size_t size) = 0;  // at the end
  // Overwrites bytes of the file: a header whose numbers are known last. write() continues at the end.
  virtual void write_at(std::uint64_t offset, const void* data, std::size_t size) = 0;
  // Reads exactly `size` bytes. DATA_LOSS, with the offset: the file ends before.
  virtual void read_at(std::uint64_t offset, void* data, std::size_t size) const = 0;
  virtual std::uint64_t size() const = 0;
  virtual void sync() = 0;
  virtual void close() = 0;
};

// An open file whose first page is also memory of this process. The file keeps a store there, however the process ends.
// It costs only the store. write() appends after that page. The file is locked while it is open.
class PageFile : public OpenFile {
 public:
  static constexpr std::size_t kPageBytes = 4096;
  virtual void* page() noexcept = 0;  // mapped until the process ends, for threads that outlive the file
  virtual FileStatus status() const = 0;
};

class OpenDirectory {
 public:
  virtual ~OpenDirectory() = default;
  virtual const std::string& path() const = 0;
  virtual std::unique_ptr<OpenFile> create(std::string_view name) = 0;      // new; ALREADY_EXISTS
  virtual std::unique_ptr<OpenFile> open(std::string_view name) const = 0;  // for reading
  virtual bool exists(std::string_view name) const = 0;
  virtual FileStatus status(std::string_view name) const = 0;
  virtual std::vector<std::string> entries() const = 0;                              // sorted, without . and ..
  virtual std::unique_ptr<OpenDirectory> make_directory(std::string_view name) = 0;  // ALREADY_EXISTS
  virtual std::unique_ptr<OpenDirectory> open_directory(std::string_view name) const = 0;
  // Renames within this directory. Replaces a file or an empty directory. ALREADY_EXISTS: the directory is not empty.
  virtual void rename(std::string_view from, std::string_view to) = 0;
  virtual void remove(std::string_view name) = 0;       // a file or link
  virtual void remove_tree(std::string_view name) = 0;  // a directory with its content; follows no link
  virtual void sync() = 0;                              // makes the entries' names durable
  // Takes an advisory lock on a file of this directory. It is held until the returned object is closed or dies (or the
  // process does). The file is made if it is missing, and emptied, so that the holder can write its name. Null: another
  // process or object has the lock.
  virtual std::unique_ptr<OpenFile> try_lock(std::string_view name) = 0;
  // Makes a file with a page of zeros that is allocated on the disk. So no store into it can fail because the disk is
  // full.
  virtual std::unique_ptr<PageFile> create_page(std::string_view name) = 0;  // ALREADY_EXISTS
  // True if a process has the file open by try_lock() or create_page(). It changes nothing.
  virtual bool locked(std::string_view name) const = 0;
  // Replaces a file's whole content: `name`.tmp, sync, rename, sync of the directory. A failure leaves the old content.
  void replace(std::string_view name, std::string_view content);
  std::string read(std::string_view name, std::uint64_t at_most) const;  // larger: RESOURCE_EXHAUSTED
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual std::unique_ptr<OpenDirectory> open_directory(const std::string& path) = 0;
  // Makes the missing directories, and syncs the parent of each.
  virtual std::unique_ptr<OpenDirectory> make_directories(const std::string& path) = 0;
  virtual bool exists(const std::string& path) const = 0;
  virtual FileStatus status(const std::string& path) const = 0;  // follows links
  // Renames a file or directory inside one file system.
  virtual void rename(const std::string& from, const std::string& to) = 0;
  virtual std::uint64_t free_bytes(const std::string& path) const = 0;
};

// Returns the machine's files. The object lives as long as the process.
FileSystem& posix_file_system();

}  // namespace belay::runtime
