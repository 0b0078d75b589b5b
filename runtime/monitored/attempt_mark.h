// SPDX-License-Identifier: Apache-2.0
// The mark of one attempt in its run directory: the file `attempt`, there while the attempt runs. A plugin that calls
// _exit, exec or exit_group, and a SIGKILL, end the process with no word on stderr; the file stays then, and the next
// start reads in it what was being called.
//
//   if (const std::string how = AttemptMark::last_attempt(run); !how.empty()) log.warning("", how);
//   AttemptMark mark(run, "host h, pid 7, since ...");       // under the run's lock
//   monitor.place = mark.place(0);                           // its calls are stores into the file from here on
//   const std::uint32_t number = mark.name("hook \"x\" (x.so 1.2, train.toml:14)");   // before the instance is made
//
// The first page of the file is memory of this process (PageFile). Its pages are dirty in the kernel, not on the disk:
// they outlive the process, but not always the machine.
//
// A run whose lock was taken away ends beside another one in its directory: what is removed at the end is looked at
// first, since the file of that name may be the other's.
//
// One at a time in a process. [main]; last_attempt: any thread
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/loader/instance.h"
#include "runtime/platform/file_system.h"

namespace belay::runtime {

class AttemptMark {
 public:
  static constexpr std::size_t kPlaces = 8;  // one per thread that calls plugins

  // What the mark of an attempt says that ended without a word; empty where there is none, where the attempt said how
  // it ended, or still runs.
  static std::string last_attempt(const OpenDirectory& run);

  // Replaces a mark that is there. Throws what making a file does.
  AttemptMark(OpenDirectory& run, const std::string& who);
  // The attempt has come to its end: the file is removed. It stays where stderr is closed by now (the host opens it at
  // its start), since what was written of the end reached nobody.
  ~AttemptMark();
  AttemptMark(const AttemptMark&) = delete;
  AttemptMark& operator=(const AttemptMark&) = delete;

  // Where a monitor writes down its calls. i < kPlaces.
  CallPlace* place(std::size_t i) noexcept;
  // The number for what has this name; 0, and the mark knows no more names, where it cannot be written.
  std::uint32_t name(const std::string& text);

  // What is removed when the attempt ends, until begun(): the directories that were made for it, the inner first, and
  // the lock that is in the first of them, which `run` is. Only empty directories go.
  void remove_at_end(const OpenDirectory& run, std::vector<std::string> directories);
  // From now on what the attempt made stays.
  void begun() noexcept { remove_made_ = false; }

 private:
  struct Page;

  static void say_last_word_of_current() noexcept;
  // Signal-safe.
  void end() noexcept;

  static constexpr std::uint32_t kNoMoreNames = UINT32_MAX;

  // A file by its path, and which one it was.
  struct OwnFile {
    std::string path;
    std::uint64_t device = 0, inode = 0;
    // Where the path still leads to it. Signal-safe.
    void remove() const noexcept;
  };

  const std::unique_ptr<PageFile> file_;  // open until the end, so that no other file can get its inode
  const OwnFile own_;
  Page* const page_;
  std::uint32_t names_ = 0;
  OwnFile lock_;
  std::vector<std::string> made_;
  std::atomic<bool> remove_made_{false};
};

// Where `address` lies in the page of the current mark: puts memory in its place that is not the file's, and returns
// true. For the handler of SIGBUS, which a store gets where the disk or another program took the file away.
// Signal-safe.
bool replace_lost_page(const void* address) noexcept;

}  // namespace belay::runtime
