// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/new_checkpoints.h"

#include <memory>
#include <utility>

#include "belay/error.h"
#include "runtime/checkpoint/find_restorable.h"
#include "runtime/checkpoint/state_file.h"

namespace belay::runtime {
namespace {

std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

// What the state file names; empty where it says nothing that can be read.
std::string named_current(const OpenDirectory& run) {
  try {
    const auto state = read_checkpoint_state(run);
    return state ? state->current : "";
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

NewCheckpoints::NewCheckpoints(FileSystem& files, Clock& clock, Logger& log, std::string directory,
                               NewCheckpointsOptions options)
    : files_(files),
      clock_(clock),
      log_(log),
      directory_(std::move(directory)),
      options_(std::move(options)),
      last_(options_.last) {}

// Empty: none but the last one.
std::string NewCheckpoints::newest() const {
  if (!files_.exists(directory_)) return "";
  const std::unique_ptr<OpenDirectory> run = files_.open_directory(directory_);
  const std::string named = named_current(*run);
  if (!named.empty() && run->path() + "/" + named == last_) return "";
  const std::string path = latest_checkpoint(*run, log_);
  return path == last_ ? "" : path;
}

bool NewCheckpoints::sleep_until(std::int64_t deadline_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stopped_ && clock_.monotonic_ns() < deadline_ns) clock_.wait_until(lock, changed_, deadline_ns);
  return !stopped_;
}

// False: the time is over, or the sequence was stopped.
bool NewCheckpoints::wait_for_new() {
  const std::int64_t start = clock_.monotonic_ns(), sleep = nanoseconds(options_.sleep_secs);
  for (;;) {
    if (std::string path = newest(); !path.empty()) {
      last_ = std::move(path);
      return true;
    }
    const std::int64_t now = clock_.monotonic_ns();
    if (options_.timeout_secs && now + sleep > start + nanoseconds(*options_.timeout_secs)) return false;
    if (!sleep_until(now + sleep)) return false;
  }
}

std::optional<std::string> NewCheckpoints::next() {
  if (returned_at_ && !sleep_until(*returned_at_ + nanoseconds(options_.min_interval_secs))) return std::nullopt;
  if (!sleep_until(0)) return std::nullopt;
  while (!wait_for_new()) {
    const bool goes_on = sleep_until(0) && options_.on_timeout && !options_.on_timeout();
    if (!goes_on) return std::nullopt;
  }
  returned_at_ = clock_.monotonic_ns();
  return last_;
}

void NewCheckpoints::stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace belay::runtime
