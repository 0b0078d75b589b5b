// SPDX-License-Identifier: Apache-2.0
// Ensures one writer per run directory. The lock is the kernel's (flock on the file `lock`), so it ends with the
// process, however that dies. The file names the holder. If somebody removes the file, a second run can begin. The
// first one finds that out before it writes again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "belay/error.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

// Another run holds the directory, or may hold it. The command line exits with status 6.
class RunInUse : public Error {
 public:
  using Error::Error;
};

// The holder, for the next one to read.
struct RunHolder {
  std::string host;
  std::int64_t pid = 0;
};
// Returns this process on this machine.
RunHolder this_process();
// Returns "host h, pid 7, since 2026-01-31T12:00:00Z".
std::string holder_text(const RunHolder& holder, const Clock& clock);
// Returns that text from a locked file; empty: its holder did not write it yet, or it cannot be read.
std::string holder_of(const OpenDirectory& directory, std::string_view name);

class RunLock {
 public:
  // RunInUse (FAILED_PRECONDITION) names host, pid and start: another process holds it.
  static RunLock take(OpenDirectory& run, const Clock& clock, const RunHolder& holder = this_process());
  // True if the file `lock` of the directory is still the one that was taken. Also true if the check fails, or if the
  // directory is gone.
  bool in_place(const OpenDirectory& run) const;

 private:
  RunLock(std::unique_ptr<OpenFile> file, const FileStatus& status)
      : file_(std::move(file)), device_(status.device), inode_(status.inode) {}
  std::unique_ptr<OpenFile> file_;
  std::uint64_t device_, inode_;
};

}  // namespace belay::runtime
