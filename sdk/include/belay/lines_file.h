// SPDX-License-Identifier: Apache-2.0
// A file in the run directory that lines are added to while a training runs. It never ends the training:
//
//   belay::LinesFile file_{host(), path};
//   file_.add("{\"step\":7}");          // gathered
//   file_.flush();                      // in the file, for others to read
//
// What cannot be written is one warning, is kept (1 MiB of it at most) and is tried again by the next flush. The file
// is opened anew when another one is at its path, after a log rotation for instance, which is one warning, too. A
// symbolic link is not followed, and what is no regular file, a pipe for instance, is not waited for.
//
// A member of a hook, [session]. A line goes into the file whole, behind those that others have added.
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

class LinesFile {
 public:
  // `path` is absolute; the host outlives this. `header`: the line that a new file begins with; empty: none. Nothing
  // is opened yet.
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

  // Opens the file that is there, or makes one; `empty`: without what was in it. False: it failed.
  bool open(bool empty = false) {
    const Host::DiskCall call(host_);
    if (empty) close();
    if (is_current()) return true;
    const int opened = open_regular(empty);
    // A directory that was moved has taken the file with it.
    if (opened < 0 && errno == ENOENT && is_open()) return true;
    if (opened < 0) return note(why());
    if (is_open()) say_replaced();
    close();
    file_ = opened;
    begins_ = true;
    return true;
  }
  bool is_open() const noexcept { return file_ >= 0; }

  // A line without its end.
  void add(std::string_view line) {
    if (failing_ && gathered_.size() + line.size() > kMostKept) gathered_.clear(), begins_ = true;
    (gathered_ += line) += '\n';
  }
  // False: not all of them are in the file.
  bool flush() {
    if (gathered_.empty() && !begins_) return true;
    const Host::DiskCall call(host_);
    return open() && write_gathered();
  }
  // Onto the disk, too.
  bool sync() {
    if (!flush()) return false;
    if (!is_open()) return true;
    const Host::DiskCall call(host_);
    while (::fdatasync(file_) != 0)
      if (errno != EINTR) return note(why());
    return true;
  }

  // ---- of the open file

  std::int64_t size() const {
    struct stat info {};
    return is_open() && ::fstat(file_, &info) == 0 ? static_cast<std::int64_t>(info.st_size) : 0;
  }
  // As many bytes as there are, at most n.
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
  bool cut(std::int64_t size) {
    const Host::DiskCall call(host_);
    while (::ftruncate(file_, size) != 0)
      if (errno != EINTR) return note(why());
    return true;
  }
  // Why the file at the path cannot be this one; empty: it can, or there is none.
  std::string why_foreign() const {
    struct stat info {};
    if (::lstat(path_.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return "";
    return S_ISLNK(info.st_mode) ? kLink : kNoFile;
  }

 private:
  static constexpr std::size_t kMostKept = 1 << 20;
  static constexpr const char* kLink = "it is a symbolic link, which could lead out of the run directory";
  static constexpr const char* kNoFile = "it is no regular file";

  // Of errno.
  std::string why() const {
    if (errno == ELOOP) return kLink;
    return errno == ENXIO ? kNoFile : std::strerror(errno);
  }

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
  bool is_current() const {
    struct stat opened {
    }, found{};
    if (!is_open()) return false;
    if (::lstat(path_.c_str(), &found) != 0) return errno != ENOENT;
    return ::fstat(file_, &opened) == 0 && opened.st_ino == found.st_ino && opened.st_dev == found.st_dev;
  }
  // A new file begins with the header; a line that a crash has cut is ended, so that it harms no other.
  void begin() {
    begins_ = false;
    const std::int64_t bytes = size();
    if (bytes == 0) {
      gathered_.insert(0, header_);
    } else if (read_at(bytes - 1, 1) != "\n") {
      gathered_.insert(0, "\n");
    }
  }

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
    // Half a line would be read as one.
    if (done > 0 && ::ftruncate(file_, before) == 0) done = 0;
    gathered_.erase(0, done);
    return note(reason);
  }

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
  bool failing_ = false;  // the last try
  bool warned_ = false, said_replaced_ = false;
};

}  // namespace v0
}  // namespace belay
