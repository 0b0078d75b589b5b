// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/files/file_system.h"

#include <fmt/core.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "belay/error.h"
#include "runtime/platform/process/process_copy.h"
#include "runtime/platform/process/spare_descriptors.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// The umask removes bits, since the user decides about the readers of a run, as with other programs. A directory that
// everybody may write is refused as a run's. So none is made, for any umask.
constexpr mode_t kFileMode = 0666, kDirectoryMode = 0775;
constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;  // Linux moves at most 2 GiB less a page in one call
constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

Code code_of(int error) {
  switch (error) {
    case ENOENT: return Code::kNotFound;
    case EEXIST:
    case ENOTEMPTY: return Code::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS: return Code::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
    case ENOMEM: return Code::kResourceExhausted;
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case EXDEV:
    case EBUSY:
    case ETXTBSY:
    case ENXIO: return Code::kFailedPrecondition;
    case ENAMETOOLONG: return Code::kInvalidArgument;
    case EIO: return Code::kDataLoss;
    default: return Code::kInternal;
  }
}

// Fails with "cannot create '/a/b': No space left on device".
[[noreturn]] void fail_call(const std::string& what, int error) {
  const char* words = strerrordesc_np(error);
  fail(code_of(error), "cannot " + what + ": " + (words == nullptr ? fmt::format("error {}", error) : words));
}

// Repeats the call while it is interrupted.
template <class Call>
auto uninterrupted(Call&& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// Repeats a call that opens. If the process has no descriptor left, it uses a spare one.
template <class Call>
int opened(Call&& call) {
  int fd = uninterrupted(call);
  while (fd < 0 && errno == EMFILE && release_spare_descriptor()) fd = uninterrupted(call);
  return fd;
}

std::string entry_path(const std::string& directory, std::string_view name) {
  return directory.ends_with('/') ? directory + std::string(name) : directory + "/" + std::string(name);
}

// Returns the name with a terminating zero.
std::string checked_name(const std::string& directory, std::string_view name) {
  if (name.empty() || name == "." || name == ".." || name.find('/') != name.npos || name.find('\0') != name.npos)
    fail(Code::kInvalidArgument, single_quoted(name) + " is no name for an entry of " + single_quoted(directory) +
                                     ": use one part of a path, without '/'");
  return std::string(name);
}

FileStatus to_status(const struct stat& s) {
  FileStatus status;
  status.kind = S_ISREG(s.st_mode)   ? FileKind::kFile
                : S_ISDIR(s.st_mode) ? FileKind::kDirectory
                : S_ISLNK(s.st_mode) ? FileKind::kSymlink
                                     : FileKind::kOther;
  status.size = static_cast<std::uint64_t>(s.st_size);
  status.device = s.st_dev;
  status.inode = s.st_ino;
  status.mode = s.st_mode & 07777u;
  status.owner = s.st_uid;
  status.modified_ns = s.st_mtim.tv_sec * 1'000'000'000 + s.st_mtim.tv_nsec;
  return status;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (fd_ < 0) return;
    ::close(fd_);
    restore_spare_descriptors();
  }
  int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

void sync_directory(int fd, const std::string& path) {
  // EINVAL: the file system has no such call, and names are as durable as possible.
  if (uninterrupted([&] { return ::fsync(fd); }) != 0 && errno != EINVAL)
    fail_call("sync " + single_quoted(path), errno);
}

class PosixFile final : public OpenFile {
 public:
  PosixFile(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  // For a lock.
  void keep_from_copies() { held_.emplace(fd_.get()); }

  const std::string& path() const override { return path_; }

  void write(const void* data, std::size_t size) override {
    const char* at = static_cast<const char*>(data);
    while (size != 0) {
      const ssize_t n = uninterrupted([&] { return ::write(fd_.get(), at, std::min(size, kMaxTransfer)); });
      // A write of nothing would be repeated for ever.
      if (n <= 0) fail_call("write " + single_quoted(path_), n == 0 ? EIO : errno);
      at += n;
      size -= static_cast<std::size_t>(n);
      unsent_ += static_cast<std::size_t>(n);
    }
    if (unsent_ >= kSendAt) start_sending();
  }

  void write_at(std::uint64_t offset, const void* data, std::size_t size) override {
    const char* at = static_cast<const char*>(data);
    while (size != 0) {
      const ssize_t n = uninterrupted(
          [&] { return ::pwrite(fd_.get(), at, std::min(size, kMaxTransfer), static_cast<off_t>(offset)); });
      if (n <= 0) fail_call("write " + single_quoted(path_), n == 0 ? EIO : errno);
      at += n;
      offset += static_cast<std::uint64_t>(n);
      size -= static_cast<std::size_t>(n);
    }
  }

  void read_at(std::uint64_t offset, void* data, std::size_t size) const override {
    char* at = static_cast<char*>(data);
    std::uint64_t position = offset;
    std::size_t left = size;
    while (left != 0) {
      const ssize_t n = uninterrupted(
          [&] { return ::pread(fd_.get(), at, std::min(left, kMaxTransfer), static_cast<off_t>(position)); });
      if (n < 0) fail_call("read " + single_quoted(path_), errno);
      if (n == 0)
        fail(Code::kDataLoss, fmt::format("cannot read {}: it ends at byte {}, {} bytes were wanted from byte {}",
                                          single_quoted(path_), position, size, offset));
      at += n;
      position += static_cast<std::uint64_t>(n);
      left -= static_cast<std::size_t>(n);
    }
  }

  FileStatus status() const {
    struct stat s;
    if (::fstat(fd_.get(), &s) != 0) fail_call("read the status of " + single_quoted(path_), errno);
    return to_status(s);
  }

  std::uint64_t size() const override { return status().size; }

  void sync() override {
    if (uninterrupted([&] { return ::fsync(fd_.get()); }) != 0) fail_call("sync " + single_quoted(path_), errno);
  }

  void close() override {
    held_.reset();
    // Linux closes the descriptor in any case, so a second call could close another file.
    const int error = ::close(fd_.release()) == 0 ? 0 : errno;
    restore_spare_descriptors();
    if (error != 0 && error != EINTR) fail_call("close " + single_quoted(path_), error);
  }

 private:
  // This many bytes are sent to the disk while later ones are still being written. Else they would wait for the sync.
  static constexpr std::size_t kSendAt = std::size_t{8} << 20;

  // It is a hint: a fault here comes again in sync(), which reports it.
  void start_sending() noexcept {
    ::sync_file_range(fd_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
    unsent_ = 0;
  }

  Descriptor fd_;
  std::string path_;
  std::optional<NotInCopies> held_;  // destroyed before fd_
  std::size_t unsent_ = 0;
};

class PosixPageFile final : public PageFile {
 public:
  // The file is new. The lock uses another descriptor, since a mapping keeps its descriptor's file open.
  PosixPageFile(Descriptor fd, Descriptor lock, const std::string& path)
      : page_(map(fd.get(), path)), lock_(std::move(lock)), held_(lock_.get()), file_(std::move(fd), path) {}
  void* page() noexcept override { return page_; }
  FileStatus status() const override { return file_.status(); }
  const std::string& path() const override { return file_.path(); }
  void write(const void* data, std::size_t size) override { file_.write(data, size); }
  void write_at(std::uint64_t offset, const void* data, std::size_t size) override {
    file_.write_at(offset, data, size);
  }
  void read_at(std::uint64_t offset, void* data, std::size_t size) const override { file_.read_at(offset, data, size); }
  std::uint64_t size() const override { return file_.size(); }
  void sync() override { file_.sync(); }
  void close() override { file_.close(); }  // the lock stays until the object dies

 private:
  static void* map(int fd, const std::string& path) {
    if (const int error = ::posix_fallocate(fd, 0, kPageBytes); error != 0)
      fail_call("write " + single_quoted(path), error);
    if (::lseek(fd, 0, SEEK_END) < 0) fail_call("write " + single_quoted(path), errno);
    void* page = ::mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) fail_call("map " + single_quoted(path), errno);
    return page;
  }

  void* page_;
  Descriptor lock_;
  NotInCopies held_;
  PosixFile file_;
};

class PosixDirectory final : public OpenDirectory {
 public:
  PosixDirectory(Descriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }

  std::unique_ptr<OpenFile> create(std::string_view name) override {
    return file(name, "create", O_RDWR | O_CREAT | O_EXCL);
  }

  std::unique_ptr<OpenFile> open(std::string_view name) const override {
    // O_NONBLOCK: a pipe without a writer must not hang the program. Regular files ignore it.
    auto opened = file(name, "open", O_RDONLY | O_NONBLOCK);
    if (opened->status().kind != FileKind::kFile)
      fail(Code::kFailedPrecondition, "cannot open " + single_quoted(opened->path()) + ": Not a regular file");
    return opened;
  }

  bool exists(std::string_view name) const override {
    struct stat s;
    if (::fstatat(fd_.get(), checked_name(path_, name).c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0) return true;
    if (errno != ENOENT) fail_call("look for " + single_quoted(entry_path(path_, name)), errno);
    return false;
  }

  FileStatus status(std::string_view name) const override {
    struct stat s;
    if (::fstatat(fd_.get(), checked_name(path_, name).c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0)
      fail_call("read the status of " + single_quoted(entry_path(path_, name)), errno);
    return to_status(s);
  }

  std::vector<std::string> entries() const override {
    // It is opened again, since a copy of the descriptor would share its reading position.
    Descriptor fd(opened([&] { return ::openat(fd_.get(), ".", kOpenDirectory); }));
    if (fd.get() < 0) fail_call("list " + single_quoted(path_), errno);
    const std::unique_ptr<DIR, void (*)(DIR*)> listing(::fdopendir(fd.get()), [](DIR* d) {
      ::closedir(d);
      restore_spare_descriptors();
    });
    if (listing == nullptr) fail_call("list " + single_quoted(path_), errno);
    fd.release();
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(listing.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    if (errno != 0) fail_call("list " + single_quoted(path_), errno);
    std::sort(names.begin(), names.end());
    return names;
  }

  std::unique_ptr<OpenDirectory> make_directory(std::string_view name) override {
    const std::string checked = checked_name(path_, name);
    if (uninterrupted([&] { return ::mkdirat(fd_.get(), checked.c_str(), kDirectoryMode); }) != 0)
      fail_call("make directory " + single_quoted(entry_path(path_, name)), errno);
    return open_directory(name);
  }

  std::unique_ptr<OpenDirectory> open_directory(std::string_view name) const override {
    const std::string path = entry_path(path_, name);
    return std::make_unique<PosixDirectory>(
        open_at(checked_name(path_, name), "open directory " + single_quoted(path), kOpenDirectory | O_NOFOLLOW), path);
  }

  void rename(std::string_view from, std::string_view to) override {
    const std::string old_name = checked_name(path_, from), new_name = checked_name(path_, to);
    if (uninterrupted([&] { return ::renameat(fd_.get(), old_name.c_str(), fd_.get(), new_name.c_str()); }) != 0)
      fail_call("rename " + single_quoted(entry_path(path_, from)) + " to " + single_quoted(entry_path(path_, to)),
                errno);
  }

  void remove(std::string_view name) override { unlink(name, 0); }

  void remove_tree(std::string_view name) override {
    const std::unique_ptr<OpenDirectory> inside = open_directory(name);
    for (const std::string& entry : inside->entries()) {
      if (inside->status(entry).kind == FileKind::kDirectory) {
        inside->remove_tree(entry);
      } else {
        inside->remove(entry);
      }
    }
    unlink(name, AT_REMOVEDIR);
  }

  void sync() override { sync_directory(fd_.get(), path_); }

  std::unique_ptr<OpenFile> try_lock(std::string_view name) override {
    const std::string path = entry_path(path_, name);
    Descriptor fd =
        open_at(checked_name(path_, name), "lock " + single_quoted(path), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC);
    if (uninterrupted([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) != 0) {
      if (errno == EWOULDBLOCK) return nullptr;
      fail_call("lock " + single_quoted(path), errno);
    }
    if (uninterrupted([&] { return ::ftruncate(fd.get(), 0); }) != 0) fail_call("write " + single_quoted(path), errno);
    auto lock = std::make_unique<PosixFile>(std::move(fd), path);
    lock->keep_from_copies();
    return lock;
  }

  std::unique_ptr<PageFile> create_page(std::string_view name) override {
    const std::string path = entry_path(path_, name);
    Descriptor fd = open_at(checked_name(path_, name), "create " + single_quoted(path),
                            O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC);
    try {
      Descriptor lock = open_at(std::string(name), "lock " + single_quoted(path), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
      // No other process has the new file open yet.
      if (uninterrupted([&] { return ::flock(lock.get(), LOCK_EX | LOCK_NB); }) != 0)
        fail_call("lock " + single_quoted(path), errno);
      return std::make_unique<PosixPageFile>(std::move(fd), std::move(lock), path);
    } catch (const Error&) {
      ::unlinkat(fd_.get(), std::string(name).c_str(), 0);
      throw;
    }
  }

  bool locked(std::string_view name) const override {
    const std::string path = entry_path(path_, name);
    const Descriptor fd = open_at(checked_name(path_, name), "open " + single_quoted(path),
                                  O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    if (uninterrupted([&] { return ::flock(fd.get(), LOCK_SH | LOCK_NB); }) == 0) return false;
    if (errno != EWOULDBLOCK) fail_call("lock " + single_quoted(path), errno);
    return true;
  }

 private:
  Descriptor open_at(const std::string& name, const std::string& what, int flags) const {
    Descriptor fd(opened([&] { return ::openat(fd_.get(), name.c_str(), flags, kFileMode); }));
    if (fd.get() < 0) fail_call(what, errno);
    return fd;
  }

  void unlink(std::string_view name, int flags) {
    const std::string checked = checked_name(path_, name);
    if (uninterrupted([&] { return ::unlinkat(fd_.get(), checked.c_str(), flags); }) != 0)
      fail_call("remove " + single_quoted(entry_path(path_, name)), errno);
  }

  std::unique_ptr<PosixFile> file(std::string_view name, const char* verb, int flags) const {
    const std::string path = entry_path(path_, name);
    return std::make_unique<PosixFile>(
        open_at(checked_name(path_, name), verb + (" " + single_quoted(path)), flags | O_NOFOLLOW | O_CLOEXEC), path);
  }

  Descriptor fd_;
  std::string path_;
};

class PosixFileSystem final : public FileSystem {
 public:
  std::unique_ptr<OpenDirectory> open_directory(const std::string& path) override {
    Descriptor fd(opened([&] { return ::open(path.c_str(), kOpenDirectory); }));
    if (fd.get() < 0) fail_call("open directory " + single_quoted(path), errno);
    return std::make_unique<PosixDirectory>(std::move(fd), path);
  }

  std::unique_ptr<OpenDirectory> make_directories(const std::string& path) override {
    make_missing(path);
    return open_directory(path);
  }

  bool exists(const std::string& path) const override {
    struct stat s;
    if (::stat(path.c_str(), &s) == 0) return true;
    if (errno != ENOENT && errno != ENOTDIR) fail_call("look for " + single_quoted(path), errno);
    return false;
  }

  FileStatus status(const std::string& path) const override {
    struct stat s;
    if (::stat(path.c_str(), &s) != 0) fail_call("read the status of " + single_quoted(path), errno);
    return to_status(s);
  }

  void rename(const std::string& from, const std::string& to) override {
    if (uninterrupted([&] { return ::rename(from.c_str(), to.c_str()); }) != 0)
      fail_call("rename " + single_quoted(from) + " to " + single_quoted(to), errno);
  }
  std::uint64_t free_bytes(const std::string& path) const override {
    struct statvfs s;
    if (uninterrupted([&] { return ::statvfs(path.c_str(), &s); }) != 0)
      fail_call("read the free space of " + single_quoted(path), errno);
    return static_cast<std::uint64_t>(s.f_bavail) * s.f_frsize;
  }

 private:
  // Makes parents first. Each new name is made durable in its parent.
  void make_missing(const std::string& path) {
    const auto make = [&] { return uninterrupted([&] { return ::mkdir(path.c_str(), kDirectoryMode); }); };
    if (make() != 0) {
      if (errno == EEXIST) return;  // if it is no directory, opening it fails
      const std::string parent = parent_of(path);
      if (errno != ENOENT || parent == path) fail_call("make directory " + single_quoted(path), errno);
      make_missing(parent);
      if (make() != 0 && errno != EEXIST) fail_call("make directory " + single_quoted(path), errno);
    }
    open_directory(parent_of(path))->sync();
  }

  static std::string parent_of(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    const std::size_t slash = path.rfind('/');
    if (slash == path.npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
  }
};

}  // namespace

void OpenDirectory::replace(std::string_view name, std::string_view content) {
  const std::string temporary = std::string(name) + ".tmp";
  if (exists(temporary)) remove(temporary);  // it is of a run that was killed
  try {
    const std::unique_ptr<OpenFile> file = create(temporary);
    file->write(content.data(), content.size());
    file->sync();
    file->close();
    rename(temporary, name);
  } catch (...) {
    try {
      if (exists(temporary)) remove(temporary);
    } catch (const Error&) {
      // The first error is more useful.
    }
    throw;
  }
  sync();
}

std::string OpenDirectory::read(std::string_view name, std::uint64_t at_most) const {
  const std::unique_ptr<OpenFile> file = open(name);
  const std::uint64_t size = file->size();
  if (size > at_most)
    fail(Code::kResourceExhausted, fmt::format("cannot read {}: it has {} bytes, at most {} are read",
                                               single_quoted(file->path()), size, at_most));
  std::string content(static_cast<std::size_t>(size), '\0');
  file->read_at(0, content.data(), content.size());
  return content;
}

FileSystem& posix_file_system() {
  static PosixFileSystem files;
  return files;
}

}  // namespace belay::runtime
