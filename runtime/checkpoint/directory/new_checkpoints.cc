// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/directory/new_checkpoints.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "belay/error.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/state_file.h"
#include "runtime/checkpoint/read/find_restorable.h"

namespace belay::runtime {
namespace {

std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }

// Returns the checkpoint in the state file; empty: it has none that can be read.
std::string named_current(const OpenDirectory& run) {
  try {
    const auto state = read_checkpoint_state(run);
    return state ? state->current : "";
  } catch (const Error&) {
    return "";
  }
}

}  // namespace

bool run_finished(const FileSystem& files, const std::string& directory) {
  return files.exists(directory + "/" + std::string(kFinishedName));
}

NewCheckpoints::NewCheckpoints(FileSystem& files, Clock& clock, Logger& log, std::string directory,
                               NewCheckpointsOptions options)
    : files_(files),
      clock_(clock),
      log_(log),
      directory_(std::move(directory)),
      options_(std::move(options)),
      last_(options_.last) {}

// Empty: there is none but the last one.
std::string NewCheckpoints::newest() const {
  if (!files_.exists(directory_)) return "";
  const std::unique_ptr<OpenDirectory> run = files_.open_directory(directory_);
  const std::string named = named_current(*run);
  if (!named.empty() && run->path() + "/" + named == last_) return "";
  const std::string path = latest_checkpoint(*run, log_);
  return path == last_ ? "" : path;
}

bool NewCheckpoints::goes_on() const { return !options_.keep_going || options_.keep_going(); }

// Sleeps in pieces, so that keep_going needs no notification. A piece is no longer than the wait between two looks.
bool NewCheckpoints::sleep_until(std::int64_t deadline_ns) {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::int64_t piece = std::max<std::int64_t>(nanoseconds(options_.sleep_secs), 1);
  for (std::int64_t asked = clock_.monotonic_ns(); !stopped_;) {
    const std::int64_t now = clock_.monotonic_ns();
    if (now >= deadline_ns) break;
    if (now - asked >= piece) {
      if (!goes_on()) return false;
      asked = now;
    }
    clock_.wait_until(lock, changed_, std::min(deadline_ns, asked + piece));
  }
  return !stopped_;
}

bool NewCheckpoints::wait(double seconds) {
  return goes_on() && sleep_until(clock_.monotonic_ns() + nanoseconds(seconds));
}

NewCheckpoints::Found NewCheckpoints::wait_for_new() {
  const std::int64_t start = clock_.monotonic_ns(), sleep = nanoseconds(options_.sleep_secs);
  for (;;) {
    if (!goes_on()) return Found::kEnd;
    const bool finished = options_.finished && options_.finished();  // before the look, which then finds the last one
    if (std::string path = newest(); !path.empty()) {
      last_ = std::move(path);
      return Found::kNew;
    }
    if (finished) return Found::kEnd;
    const std::int64_t now = clock_.monotonic_ns();
    if (options_.timeout_secs && now + sleep > start + nanoseconds(*options_.timeout_secs)) return Found::kTimeout;
    if (!sleep_until(now + sleep)) return Found::kEnd;
  }
}

std::optional<std::string> NewCheckpoints::next() {
  if (returned_at_ && !sleep_until(*returned_at_ + nanoseconds(options_.min_interval_secs))) return std::nullopt;
  if (!sleep_until(0)) return std::nullopt;
  for (Found found = wait_for_new(); found != Found::kNew; found = wait_for_new()) {
    if (found == Found::kEnd || !options_.on_timeout || options_.on_timeout()) return std::nullopt;
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
