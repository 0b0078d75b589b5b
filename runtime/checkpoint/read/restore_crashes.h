// SPDX-License-Identifier: Apache-2.0
// A checkpoint whose restore crashes the process would end every start. So such a crash leaves a mark in the
// checkpoint, the file `crashed` with a byte for each. One that has crashed two starts in a row is skipped
// (find_restorable). A restore that the process survives removes the mark, and a person may, too. A process that is
// killed, or ended by _exit, leaves none. The machine may be the cause, and not the checkpoint.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

inline constexpr std::uint64_t kMostRestoreCrashes = 2;

// Returns the number for that checkpoint since its last restore; 0 if it cannot be found.
std::uint64_t restore_crashes(const OpenDirectory& run, const std::string& checkpoint) noexcept;

// While it lives, a crash counts for that checkpoint. Only one at a time. [session]
class WatchedRestore {
 public:
  // Borrows `run`.
  WatchedRestore(const OpenDirectory& run, std::string checkpoint);
  ~WatchedRestore();
  WatchedRestore(const WatchedRestore&) = delete;
  WatchedRestore& operator=(const WatchedRestore&) = delete;

  // The process crashes: leaves the mark if a restore is being watched. Signal-safe. Any thread.
  static void note_crash() noexcept;

 private:
  const OpenDirectory& run_;
  const std::string checkpoint_, mark_path_;
  static std::atomic<const WatchedRestore*> current_;
};

}  // namespace belay::runtime
