// SPDX-License-Identifier: Apache-2.0
// A directory that is made under another name and gets its own when it is whole, so that a crash at any moment leaves
// it whole or absent.
//
//   UnfinishedDirectory unfinished(run, "model.ckpt-20", temporary_name("model.ckpt-20"), log);
//   ... files into unfinished.directory(), each synced ...
//   unfinished.place(replaced_name("model.ckpt-20"));      // syncs, renames, syncs the parent
//
// What throws is undone: the temporary directory is removed, and what place() moved aside is back. [session] or [save]
#pragma once

#include <memory>
#include <string>

#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

class UnfinishedDirectory {
 public:
  // `parent` and `log` are borrowed.
  UnfinishedDirectory(OpenDirectory& parent, std::string name, std::string temporary, Logger& log);
  UnfinishedDirectory(const UnfinishedDirectory&) = delete;
  UnfinishedDirectory& operator=(const UnfinishedDirectory&) = delete;
  ~UnfinishedDirectory();

  // Until place().
  OpenDirectory& directory() { return *directory_; }
  // Syncs and renames it. What had that name before is first renamed to `aside`, and removed at the end; ALREADY_EXISTS
  // if `aside` is empty.
  void place(const std::string& aside);

 private:
  // What fails here is a leftover, and a warning.
  template <class F>
  void attempt(F&& f) noexcept;

  OpenDirectory& parent_;
  Logger& log_;
  const std::string name_, temporary_;
  std::string aside_;  // what was moved there; empty: nothing
  std::unique_ptr<OpenDirectory> directory_;
  bool placed_ = false, finished_ = false;
};

}  // namespace belay::runtime
