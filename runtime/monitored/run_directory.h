// A run's directory: made where it is missing, locked for this run, cleared of what a killed run left half-written.
// Nothing is written into it once its lock is not in place.
#pragma once

#include <memory>
#include <string>

#include "runtime/checkpoint/locked_directory.h"
#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

class RunDirectory {
 public:
  // RunInUse where another run holds it; PERMISSION_DENIED and others where it cannot be made or is writable for all.
  static RunDirectory open(FileSystem& files, const std::string& path, const Clock& clock, Logger& log);

  LockedDirectory& directory() noexcept { return *directory_; }
  const LockedDirectory& directory() const noexcept { return *directory_; }
  const std::string& path() const noexcept { return directory_->path(); }

 private:
  explicit RunDirectory(std::unique_ptr<LockedDirectory> directory) : directory_(std::move(directory)) {}

  std::unique_ptr<LockedDirectory> directory_;
};

}  // namespace belay::runtime
