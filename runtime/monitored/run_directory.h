// A run's directory: made where it is missing, locked for this run, cleared of what a killed run left half-written.
#pragma once

#include <memory>
#include <string>

#include "runtime/checkpoint/run_lock.h"
#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

class RunDirectory {
 public:
  // RunInUse where another run holds it; PERMISSION_DENIED and others where it cannot be made or is writable for all.
  static RunDirectory open(FileSystem& files, const std::string& path, const Clock& clock, Logger& log);

  OpenDirectory& directory() noexcept { return *directory_; }
  const std::string& path() const noexcept { return directory_->path(); }

 private:
  RunDirectory(std::unique_ptr<OpenDirectory> directory, RunLock lock)
      : directory_(std::move(directory)), lock_(std::move(lock)) {}

  std::unique_ptr<OpenDirectory> directory_;
  RunLock lock_;
};

}  // namespace belay::runtime
