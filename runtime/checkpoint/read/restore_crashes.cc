// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/restore_crashes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <utility>

#include "runtime/checkpoint/format/names.h"

namespace belay::runtime {

std::atomic<const WatchedRestore*> WatchedRestore::current_{nullptr};

std::uint64_t restore_crashes(const OpenDirectory& run, const std::string& checkpoint) noexcept {
  try {
    if (!run.exists(checkpoint) || run.status(checkpoint).kind != FileKind::kDirectory) return 0;
    const auto directory = run.open_directory(checkpoint);
    return directory->exists(kCrashedName) ? directory->status(kCrashedName).size : 0;
  } catch (const std::exception&) {
    return 0;
  }
}

WatchedRestore::WatchedRestore(const OpenDirectory& run, std::string checkpoint)
    : run_(run),
      checkpoint_(std::move(checkpoint)),
      mark_path_(run.path() + "/" + checkpoint_ + "/" + std::string(kCrashedName)) {
  current_ = this;
}

WatchedRestore::~WatchedRestore() {
  current_ = nullptr;
  if (restore_crashes(run_, checkpoint_) == 0) return;
  try {
    run_.open_directory(checkpoint_)->remove(kCrashedName);
  } catch (const std::exception&) {
    // It stays, and counts with the next crash.
  }
}

void WatchedRestore::note_crash() noexcept {
  const WatchedRestore* watched = current_;
  if (watched == nullptr) return;
  const int mark =
      ::open(watched->mark_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (mark < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(mark, "!", 1);
  ::close(mark);
}

}  // namespace belay::runtime
