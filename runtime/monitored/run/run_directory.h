// SPDX-License-Identifier: Apache-2.0
// A run's directory. It is made if it is missing, locked for this run, and cleared of half-written files of a killed
// run. Nothing is written into it after its lock is lost. A warning in the log describes a previous attempt that ended
// without a message.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/directory/locked_directory.h"
#include "runtime/monitored/run/attempt_mark.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

class RunDirectory {
 public:
  // RunInUse: another run holds it. PERMISSION_DENIED and other errors: it cannot be made, all may write to it, or it
  // is one of the system's own, such as /etc.
  static RunDirectory open(FileSystem& files, const std::string& path, const Clock& clock, Logger& log);

  LockedDirectory& directory() noexcept { return *directory_; }
  const LockedDirectory& directory() const noexcept { return *directory_; }
  const std::string& path() const noexcept { return directory_->path(); }

  // Marks this attempt before the first plugin is loaded. If the process ends in a plugin without a message, the next
  // start names the place. Until keep(), the end of the process or of this object removes what open() made. Returns
  // null, with a warning in the log, if no mark can be made.
  AttemptMark* mark_attempt(const Clock& clock, Logger& log);
  void keep() noexcept {
    if (mark_ != nullptr) mark_->begun();
  }

 private:
  RunDirectory(std::unique_ptr<LockedDirectory> directory, std::vector<std::string> made)
      : directory_(std::move(directory)), made_(std::move(made)) {}

  std::unique_ptr<LockedDirectory> directory_;
  std::vector<std::string> made_;      // by open(), the innermost first
  std::unique_ptr<AttemptMark> mark_;  // dies first
};

}  // namespace belay::runtime
