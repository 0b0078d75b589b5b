// SPDX-License-Identifier: Apache-2.0
// A checkpoint whose restore crashes the process would end every start. So a crash meanwhile leaves a mark in the
// checkpoint, the file `crashed` with a byte for each, and one that has crashed two starts in a row is passed over
// (find_restorable). A restore that the process outlives removes the mark, and so may a person. A process that is
// killed, or ended by _exit, leaves none: that may be the machine's doing, and says nothing of the checkpoint.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/platform/file_system.h"

namespace belay::runtime {

inline constexpr std::uint64_t kMostRestoreCrashes = 2;

// Of that checkpoint, since it was last restored. 0 where that cannot be found out.
std::uint64_t restore_crashes(const OpenDirectory& run, const std::string& checkpoint) noexcept;

// While it lives a crash is that checkpoint's. One at a time. [session]
class WatchedRestore {
 public:
  // `run` is borrowed.
  WatchedRestore(const OpenDirectory& run, std::string checkpoint);
  ~WatchedRestore();
  WatchedRestore(const WatchedRestore&) = delete;
  WatchedRestore& operator=(const WatchedRestore&) = delete;

  // The process crashes: leaves the mark where a restore is being watched. Signal-safe. Any thread.
  static void note_crash() noexcept;

 private:
  const OpenDirectory& run_;
  const std::string checkpoint_, mark_path_;
  static std::atomic<const WatchedRestore*> current_;
};

}  // namespace belay::runtime
