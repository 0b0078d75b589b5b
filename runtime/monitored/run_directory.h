// SPDX-License-Identifier: Apache-2.0
// A run's directory: made where it is missing, locked for this run, cleared of what a killed run left half-written.
// Nothing is written into it once its lock is not in place. How an attempt ended that said nothing is a warning in the
// log.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/locked_directory.h"
#include "runtime/monitored/attempt_mark.h"
#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

class RunDirectory {
 public:
  // RunInUse where another run holds it; PERMISSION_DENIED and others where it cannot be made, is writable for all, or
  // is one of the system's own, such as /etc.
  static RunDirectory open(FileSystem& files, const std::string& path, const Clock& clock, Logger& log);

  LockedDirectory& directory() noexcept { return *directory_; }
  const LockedDirectory& directory() const noexcept { return *directory_; }
  const std::string& path() const noexcept { return directory_->path(); }

  // Marks this attempt, before the first plugin is loaded: if the process ends in one without a word, the next start
  // says where. Until keep(), the end of the process or of this object takes away again what open() made. Null where no
  // mark can be made, a warning in the log.
  AttemptMark* mark_attempt(const Clock& clock, Logger& log);
  void keep() noexcept {
    if (mark_ != nullptr) mark_->begun();
  }

 private:
  RunDirectory(std::unique_ptr<LockedDirectory> directory, std::vector<std::string> made)
      : directory_(std::move(directory)), made_(std::move(made)) {}

  std::unique_ptr<LockedDirectory> directory_;
  std::vector<std::string> made_;      // by open(), the inner first
  std::unique_ptr<AttemptMark> mark_;  // dies first
};

}  // namespace belay::runtime
