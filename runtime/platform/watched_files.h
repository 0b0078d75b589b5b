// SPDX-License-Identifier: Apache-2.0
// The file system as `belay run` gets it: each call that may wait for a disk is counted when it begins and when it
// ends. So the watchdog knows a slow disk from a run that hangs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/platform/file_system.h"

namespace belay::runtime {

// Calls of the file system. [any thread]
struct DiskCalls {
  std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> ended{0};
};

// Both are borrowed, by the directories and files that come from it too.
std::unique_ptr<FileSystem> watched_files(FileSystem& files, DiskCalls& calls);

}  // namespace belay::runtime
