// SPDX-License-Identifier: Apache-2.0
// A run directory under its run's lock. Each write first checks that the lock is still in place. If it is not, nothing
// is written any more, and the run ends. Else two runs would mix their checkpoints and events.
//
// Writes inside a directory that was made here (a checkpoint) are not checked. The directory gets its name here.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/directory/run_lock.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

class LockedDirectory final : public OpenDirectory {
 public:
  LockedDirectory(std::unique_ptr<OpenDirectory> directory, RunLock lock)
      : directory_(std::move(directory)), lock_(std::move(lock)) {}

  // RunInUse: the lock is not in place, now or at an earlier check.
  void check_lock() const;
  // True if a check found that. It checks nothing itself. Call it from any thread.
  bool lock_lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

  const std::string& path() const override { return directory_->path(); }
  std::unique_ptr<OpenFile> create(std::string_view name) override;
  std::unique_ptr<OpenFile> open(std::string_view name) const override { return directory_->open(name); }
  bool exists(std::string_view name) const override { return directory_->exists(name); }
  FileStatus status(std::string_view name) const override { return directory_->status(name); }
  std::vector<std::string> entries() const override { return directory_->entries(); }
  std::unique_ptr<OpenDirectory> make_directory(std::string_view name) override;
  std::unique_ptr<OpenDirectory> open_directory(std::string_view name) const override {
    return directory_->open_directory(name);
  }
  void rename(std::string_view from, std::string_view to) override;
  void remove(std::string_view name) override;
  void remove_tree(std::string_view name) override;
  void sync() override { directory_->sync(); }
  std::unique_ptr<OpenFile> try_lock(std::string_view name) override { return directory_->try_lock(name); }
  std::unique_ptr<PageFile> create_page(std::string_view name) override;
  bool locked(std::string_view name) const override { return directory_->locked(name); }

 private:
  class File;

  const std::unique_ptr<OpenDirectory> directory_;
  const RunLock lock_;
  mutable std::atomic<bool> lost_{false};
};

}  // namespace belay::runtime
