// SPDX-License-Identifier: Apache-2.0
// A file in the run directory to which a hook adds lines during a training. An error of the file never ends the
// training:
//
//   belay::LinesFile file_{host(), path};
//   file_.add("{\"step\":7}");          // gathered in memory
//   file_.flush();                      // in the file, for other readers
//
// A failed write is one warning. The lines are kept (at most 1 MiB), and the next flush tries again. If another file is
// at the path, for example after a log rotation, the object opens that file. This is one warning too. It does not
// follow a symbolic link, and does not wait for a file that is not regular, such as a pipe.
//
// It is a member of a hook, [session]. A line enters the file as a whole, after the lines that others have added.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "belay/host.h"

namespace belay {
inline namespace v0 {

// The file and the lines that are not written yet. The destructor writes them and closes the file.
class LinesFile {
 public:
  // `path` is absolute; the host must outlive the object. `header`: the first line of a new file; empty: none. It opens
  // no file yet.
  LinesFile(const Host& host, std::string path, std::string_view header = {}) : host_(host), path_(std::move(path)) {
    if (!header.empty()) (header_ += header) += '\n';
  }
  LinesFile(const LinesFile&) = delete;
  LinesFile& operator=(const LinesFile&) = delete;
  ~LinesFile() {
    flush();
    close();
  }

  const std::string& path() const noexcept { return path_; }
  const std::string& header() const noexcept { return header_; }  // with its end

  // Opens the existing file, or makes one. `empty`: removes its contents. False: it failed, with a warning.
  bool open(bool empty = false) {
    const Host::DiskCall call(host_);
    if (empty) close();
    if (is_current()) return true;
    const int opened = open_regular(empty);
    // If the directory was moved, the file has moved with it.
    if (opened < 0 && errno == ENOENT && is_open()) return true;
    if (opened < 0) return note(why());
    if (is_open()) say_replaced();
    close();
    file_ = opened;
    begins_ = true;
    return true;
  }
  // True if a file is open.
  bool is_open() const noexcept { return file_ >= 0; }

  // Adds a line, given without its end. It is only in memory until the next flush.
  void add(std::string_view line) {
    if (failing_ && gathered_.size() + line.size() > kMostKept) gathered_.clear(), begins_ = true;
    (gathered_ += line) += '\n';
  }
  // Writes all added lines to the file. False: some are not in the file.
  bool flush() {
    if (gathered_.empty() && !begins_) return true;
    const Host::DiskCall call(host_);
    return open() && write_gathered();
  }
  // Writes all added lines to the disk too. False: it failed.
  bool sync() {
    if (!flush()) return false;
    if (!is_open()) return true;
    const Host::DiskCall call(host_);
    while (::fdatasync(file_) != 0)
      if (errno != EINTR) return note(why());
    return true;
  }

  // ---- of the open file

  // Size of the open file in bytes; 0 if none is open.
  std::int64_t size() const {
    struct stat info {};
    return is_open() && ::fstat(file_, &info) == 0 ? static_cast<std::int64_t>(info.st_size) : 0;
  }
  // Reads at most n bytes from `offset`; fewer at the end of the file.
  std::string read_at(std::int64_t offset, std::size_t n) const {
    const Host::DiskCall call(host_);
    std::string text(n, '\0');
    std::size_t done = 0;
    while (done < n) {
      const ssize_t read = ::pread(file_, text.data() + done, n - done, offset + static_cast<std::int64_t>(done));
      if (read < 0 && errno == EINTR) continue;
      if (read <= 0) break;
      done += static_cast<std::size_t>(read);
    }
    text.resize(done);
    return text;
  }
  // Cuts the open file to `size` bytes. False: it failed, with a warning.
  bool cut(std::int64_t size) {
    const Host::DiskCall call(host_);
    while (::ftruncate(file_, size) != 0)
      if (errno != EINTR) return note(why());
    return true;
  }
  // The reason that the file at the path cannot be used; empty: it can, or it does not exist.
  std::string why_foreign() const {
    struct stat info {};
    if (::lstat(path_.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return "";
    return S_ISLNK(info.st_mode) ? kLink : kNoFile;
  }

 private:
  static constexpr std::size_t kMostKept = 1 << 20;
  static constexpr const char* kLink = "it is a symbolic link, which could lead out of the run directory";
  static constexpr const char* kNoFile = "it is no regular file";

  // Describes errno.
  std::string why() const {
    if (errno == ELOOP) return kLink;
    return errno == ENXIO ? kNoFile : std::strerror(errno);
  }

  // Opens a regular file or makes one. -1: errno has the reason.
  int open_regular(bool empty) const {
    const int flags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (empty ? O_TRUNC : 0);
    int file = -1;
    do {
      file = ::open(path_.c_str(), flags, 0666);
    } while (file < 0 && errno == EINTR);
    struct stat info {};
    if (file < 0 || (::fstat(file, &info) == 0 && S_ISREG(info.st_mode))) return file;
    ::close(file);
    errno = ENXIO;
    return -1;
  }
  // True if the open file is still the one at the path.
  bool is_current() const {
    struct stat opened {
    }, found{};
    if (!is_open()) return false;
    if (::lstat(path_.c_str(), &found) != 0) return errno != ENOENT;
    return ::fstat(file_, &opened) == 0 && opened.st_ino == found.st_ino && opened.st_dev == found.st_dev;
  }
  // Adds the header to a new file. If a crash has cut the last line, it ends that line, so no other line is damaged.
  void begin() {
    begins_ = false;
    const std::int64_t bytes = size();
    if (bytes == 0) {
      gathered_.insert(0, header_);
    } else if (read_at(bytes - 1, 1) != "\n") {
      gathered_.insert(0, "\n");
    }
  }

  // Writes the gathered lines. After an error it keeps those that are not in the file.
  bool write_gathered() {
    if (begins_) begin();
    const std::int64_t before = size();
    std::size_t done = 0;
    while (done < gathered_.size()) {
      const ssize_t n = ::write(file_, gathered_.data() + done, gathered_.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    const bool written = done == gathered_.size();
    if (written) {
      gathered_.clear();
      failing_ = false;
      return true;
    }
    const std::string reason = why();
    // A reader would take an incomplete line as a whole one.
    if (done > 0 && ::ftruncate(file_, before) == 0) done = 0;
    gathered_.erase(0, done);
    return note(reason);
  }

  // Reports a failure, once per object. Returns false.
  bool note(const std::string& reason) {
    failing_ = true;
    if (!std::exchange(warned_, true))
      host_.warning("'" + path_ + "' cannot be written: " + reason +
                    "; the run continues and tries again, and some lines may be missing in the file");
    return false;
  }
  void say_replaced() {
    if (!std::exchange(said_replaced_, true))
      host_.warning("'" + path_ +
                    "' was removed or replaced while the run wrote it; it is opened anew, and what was "
                    "written before is not in it");
  }
  void close() {
    if (file_ >= 0) ::close(std::exchange(file_, -1));
  }

  const Host& host_;
  const std::string path_;
  std::string header_;
  std::string gathered_;
  int file_ = -1;
  bool begins_ = false;   // nothing was written since it was opened
  bool failing_ = false;  // the last write failed
  bool warned_ = false, said_replaced_ = false;
};

}  // namespace v0
}  // namespace belay
