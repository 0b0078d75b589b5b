// SPDX-License-Identifier: Apache-2.0
// The file system of `belay run`. It counts the start and the end of each call that may wait for a disk. So the
// watchdog can distinguish a slow disk from a run that hangs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

// Counts calls of the file system. [any thread]
struct DiskCalls {
  std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> ended{0};
};

// Borrows both. Its directories and files borrow them, too.
std::unique_ptr<FileSystem> watched_files(FileSystem& files, DiskCalls& calls);

}  // namespace belay::runtime
