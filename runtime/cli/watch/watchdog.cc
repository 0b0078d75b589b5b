// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/watch/watchdog.h"

#include <unistd.h>

#include <algorithm>

#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/watch/temporary_folder.h"
#include "runtime/platform/process/last_word.h"
#include "runtime/platform/process/process_copy.h"
#include "runtime/platform/process/stacks.h"
#include "runtime/platform/text/fixed_text.h"

namespace belay::runtime {
namespace {

std::string seconds_text(double s) { return fixed_text(s, s < 10 ? 1 : 0); }

}  // namespace

Watchdog::Watchdog(WatchdogOptions options, Logger& log, Clock& clock)
    : options_(std::move(options)), log_(log), clock_(clock) {
  if (options_.no_progress_secs > 0) thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Watchdog::Seen Watchdog::look() const noexcept {
  if (options_.disk == nullptr) return {count_, 0, false};
  // The order matters: a call that ends in between seems to run once more.
  const std::uint64_t ended = options_.disk->ended;
  return {count_, ended, options_.disk->begun != ended};
}

std::string Watchdog::where() const {
  const std::string doing = options_.activity ? options_.activity() : "";
  return doing.empty() ? "" : ", in " + doing;
}

void Watchdog::warn(double seconds, bool in_disk) {
  if (in_disk) {
    const std::string place = where();
    const bool ranks = place.find("cluster \"") != std::string::npos;  // whose calls wait for other ranks
    return log_.warning("", std::string(ranks ? "the other ranks have" : "the disk has") + " not answered for " +
                                seconds_text(seconds) + " s" + place + "; the run waits for " +
                                (ranks ? "them" : "it"));
  }
  log_.warning("", "no progress for " + seconds_text(seconds) + " s" + where() + "; the run ends after " +
                       seconds_text(options_.no_progress_secs) + " s (no_progress_secs)");
}

void Watchdog::give_up(double seconds) {
  log_.error("", "[B5017] no progress for " + seconds_text(seconds) + " s" + where() +
                     "; the stacks of all threads follow, then the run ends with status 124");
  log_.flush();
  if (options_.give_up) return options_.give_up();
  write_all_stacks(STDERR_FILENO);
  say_last_word();
  TemporaryFolder::remove_now();
  end_now(kExitNoProgress);
}

void Watchdog::watch() {
  const double limit = options_.no_progress_secs;
  const auto pause = static_cast<std::int64_t>(std::clamp(limit / 20, 0.01, 1.0) * 1e9);
  Seen seen = look();
  std::int64_t since = clock_.monotonic_ns();
  bool warned = false, saved_beside = false;
  std::unique_lock lock(mutex_);
  for (;;) {
    const std::int64_t next = clock_.monotonic_ns() + pause;
    while (!done_ && clock_.monotonic_ns() < next) clock_.wait_until(lock, changed_, next);
    if (done_) return;
    const bool saves_beside = saved_beside;
    saved_beside = options_.saves_beside && options_.saves_beside();  // read before the look: it may end in between
    const Seen now = look();
    if (now.progress != seen.progress || (now.disk != seen.disk && !saves_beside)) {
      since = clock_.monotonic_ns();
      warned = false;
    }
    seen = now;
    const double passed = static_cast<double>(clock_.monotonic_ns() - since) * 1e-9;
    if (passed >= limit && !now.in_disk) return give_up(passed);
    if (passed < limit / 2 || warned) continue;
    warn(passed, now.in_disk);
    warned = true;
    if (now.in_disk || !options_.on_warning) continue;
    options_.on_warning();
    saved_beside = true;
  }
}

}  // namespace belay::runtime
