// SPDX-License-Identifier: Apache-2.0
// A directory that is made under a temporary name and renamed when it is whole. So a crash at any moment leaves it
// whole or absent.
//
//   UnfinishedDirectory unfinished(run, "model.ckpt-20", temporary_name("model.ckpt-20"), log);
//   ... files into unfinished.directory(), each synced ...
//   unfinished.place(replaced_name("model.ckpt-20"));      // syncs, renames, syncs the parent
//
// An exception undoes everything: the temporary directory is removed, and an entry that place() moved aside gets its
// name back. [session] or [save]
#pragma once

#include <memory>
#include <string>

#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

class UnfinishedDirectory {
 public:
  // Borrows `parent` and `log`.
  UnfinishedDirectory(OpenDirectory& parent, std::string name, std::string temporary, Logger& log);
  UnfinishedDirectory(const UnfinishedDirectory&) = delete;
  UnfinishedDirectory& operator=(const UnfinishedDirectory&) = delete;
  ~UnfinishedDirectory();

  // Valid until place().
  OpenDirectory& directory() { return *directory_; }
  // Syncs and renames it. An existing entry of that name is first renamed to `aside`, and removed at the end.
  // ALREADY_EXISTS: there is one, and `aside` is empty.
  void place(const std::string& aside);

 private:
  // A failure here is a warning, and some entries remain.
  template <class F>
  void attempt(F&& f) noexcept;

  OpenDirectory& parent_;
  Logger& log_;
  const std::string name_, temporary_;
  std::string aside_;  // the entry that was moved aside; empty: none
  std::unique_ptr<OpenDirectory> directory_;
  bool placed_ = false, finished_ = false;
};

}  // namespace belay::runtime
