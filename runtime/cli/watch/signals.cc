// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/watch/signals.h"

#include <fmt/core.h>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "runtime/cli/watch/temporary_folder.h"
#include "runtime/platform/process/last_word.h"
#include "runtime/platform/process/process_copy.h"

namespace belay::runtime {
namespace {

sigset_t served_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGQUIT}) sigaddset(&set, s);
  if (isatty(STDIN_FILENO) != 0) sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

void Signals::block() {
  const sigset_t set = served_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  if (sigismember(&set, SIGHUP) == 0) signal(SIGHUP, SIG_IGN);
}

Signals::Signals(SignalRequests requests) : requests_(std::move(requests)), thread_([this] { serve(); }) {}

Signals::~Signals() {
  done_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR2);  // without it, its wait would continue for some time
  thread_.join();
}

void Signals::serve() {
  using SteadyClock = std::chrono::steady_clock;
  const sigset_t set = served_signals();
  SteadyClock::time_point stopped_at{};
  bool late = false;
  while (!done_) {
    const timespec wait{0, 50'000'000};
    siginfo_t info{};
    const int s = sigtimedwait(&set, &info, &wait);
    const int stopping = stop_signal_.load();
    if (stopping != 0) {
      const double passed = std::chrono::duration<double>(SteadyClock::now() - stopped_at).count();
      if (passed > grace_secs_) give_up(stopping, grace_secs_);
      if (passed > kWakeSecs && requests_.wake) requests_.wake(stopping);
      if (passed > grace_secs_ / 2 && requests_.late && !std::exchange(late, true)) requests_.late();
    }
    if (s <= 0 || (s == SIGUSR2 && done_)) continue;
    if (s == SIGUSR2) {
      if (requests_.save) requests_.save();
    } else if (s == SIGQUIT) {
      if (requests_.stacks) requests_.stacks();
    } else if (stopping != 0) {
      give_up(s, std::nullopt);
    } else {
      stop_signal_ = s;
      stopped_at = SteadyClock::now();
      if (requests_.stop) requests_.stop(s, info.si_pid == getpid());
    }
  }
}

void Signals::give_up(int s, std::optional<double> grace_secs) {
  if (requests_.give_up) requests_.give_up(s, grace_secs);
  die_of(s);
}

void Signals::die_of(int s) {
  say_last_word();
  TemporaryFolder::remove_now();
  signal(s, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, s);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  kill(getpid(), s);
  // The signal reaches some thread at once. If the default action did not kill (these signals' actions do), the process
  // ends here.
  end_now(128 + s);
}

std::string signal_name(int s) {
  switch (s) {
    case SIGTERM: return "SIGTERM";
    case SIGINT: return "SIGINT";
    case SIGUSR1: return "SIGUSR1";
    case SIGHUP: return "SIGHUP";
    default: return fmt::format("signal {}", s);
  }
}

}  // namespace belay::runtime
