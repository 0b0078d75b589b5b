#include "runtime/cli/watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "runtime/cli/exit_status.h"
#include "runtime/platform/last_word.h"
#include "runtime/platform/stacks.h"

namespace belay::runtime {
namespace {

std::string seconds_text(double s) {
  char text[32];
  std::snprintf(text, sizeof(text), s < 10 ? "%.1f" : "%.0f", s);
  return text;
}

}  // namespace

Watchdog::Watchdog(WatchdogOptions options, Logger& log) : options_(std::move(options)), log_(log) {
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

void Watchdog::watch() {
  using SteadyClock = std::chrono::steady_clock;
  const double limit = options_.no_progress_secs;
  const auto look = std::chrono::duration<double>(std::clamp(limit / 20, 0.01, 1.0));
  std::uint64_t seen = count_;
  SteadyClock::time_point since = SteadyClock::now();
  bool warned = false;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, look, [&] { return done_; })) {
    const std::uint64_t now = count_;
    if (now != seen) {
      seen = now;
      since = SteadyClock::now();
      warned = false;
      continue;
    }
    const double passed = std::chrono::duration<double>(SteadyClock::now() - since).count();
    const std::string doing = options_.activity ? options_.activity() : "";
    const std::string where = doing.empty() ? "" : ", in " + doing;
    if (passed >= limit) {
      log_.error("", "no progress for " + seconds_text(passed) + " s" + where +
                         "; the stacks of all threads follow, then the run ends with status 124");
      log_.flush();
      write_all_stacks(STDERR_FILENO);
      if (options_.give_up) {
        options_.give_up();
        return;
      }
      say_last_word();
      _exit(kExitNoProgress);
    }
    if (passed >= limit / 2 && !warned) {
      warned = true;
      log_.warning("", "no progress for " + seconds_text(passed) + " s" + where + "; the run ends after " +
                           seconds_text(limit) + " s (no_progress_secs)");
    }
  }
}

}  // namespace belay::runtime
