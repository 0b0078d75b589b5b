// SPDX-License-Identifier: Apache-2.0
// The mark of one attempt in its run directory: the file `attempt`, which exists while the attempt runs. A SIGKILL, or
// a plugin that calls _exit, exec or exit_group, ends the process without a message on stderr. The file then stays, and
// the next start reads in it which plugin was being called.
//
//   if (const std::string how = AttemptMark::last_attempt(run); !how.empty()) log.warning("", how);
//   AttemptMark mark(run, "host h, pid 7, since ...");       // under the run's lock
//   monitor.place = mark.place(0);                           // its calls are stores into the file from here on
//   const std::uint32_t number = mark.name("hook \"x\" (x.so 1.2, train.toml:14)");   // before the instance is made
//
// The first page of the file is memory of this process (PageFile). Its pages are dirty in the kernel, not on the disk.
// They outlive the process, but not always the machine.
//
// A run that lost its lock ends beside another run in its directory. It therefore checks each file before it removes
// it. A file of this name may belong to the other run.
//
// A process has one mark at a time. [main]; last_attempt: any thread
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/loader/instance/instance.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

class AttemptMark {
 public:
  static constexpr std::size_t kPlaces = 8;  // one per thread that calls plugins

  // Returns a text about the last attempt if it ended without a message. It is empty if there is no mark, and if the
  // attempt reported its end or still runs.
  static std::string last_attempt(const OpenDirectory& run);

  // Replaces an existing mark. Throws the errors of making a file.
  AttemptMark(OpenDirectory& run, const std::string& who);
  // Removes the file, since the attempt has ended. The file stays if stderr is closed by now (the host opens it at its
  // start). No one read the messages of such an end.
  ~AttemptMark();
  AttemptMark(const AttemptMark&) = delete;
  AttemptMark& operator=(const AttemptMark&) = delete;

  // Returns the place that a monitor writes its calls to. i < kPlaces.
  CallPlace* place(std::size_t i) noexcept;
  // Returns the number of this name. Returns 0 if the name cannot be written; the mark then takes no more names.
  std::uint32_t name(const std::string& text);

  // Sets what is removed when the attempt ends before begun(): the directories that were made for it, the innermost
  // first. `run` is the first of them, and the lock in it is removed too. Only empty directories are removed.
  void remove_at_end(const OpenDirectory& run, std::vector<std::string> directories);
  // From now on the attempt's files and directories stay.
  void begun() noexcept { remove_made_ = false; }

 private:
  struct Page;

  static void say_last_word_of_current() noexcept;
  // Signal-safe.
  void end() noexcept;

  static constexpr std::uint32_t kNoMoreNames = UINT32_MAX;

  // A file by its path, with the identity that it had.
  struct OwnFile {
    std::string path;
    std::uint64_t device = 0, inode = 0;
    // Removes it if the path still leads to it. Signal-safe.
    void remove() const noexcept;
  };

  const std::unique_ptr<PageFile> file_;  // open until the end, so no other file can get its inode
  const OwnFile own_;
  Page* const page_;
  std::uint32_t names_ = 0;
  OwnFile lock_;
  std::vector<std::string> made_;
  std::atomic<bool> remove_made_{false};
};

// Returns true if `address` lies in the page of the current mark, and puts other memory in its place. The handler of
// SIGBUS calls it: a store gets that signal if the disk or another program took the file away. Signal-safe.
bool replace_lost_page(const void* address) noexcept;

}  // namespace belay::runtime
