// SPDX-License-Identifier: Apache-2.0
// Signals as requests. Every thread blocks the signals that a run needs, and one thread takes them. So nothing ever
// runs in a signal handler.
//
//   SIGTERM, SIGINT, SIGUSR1   first: stop at the next step's boundary, save, end; second: exit at once, without saving
//   SIGUSR2                    save now, continue
//   SIGQUIT                    write all stacks, continue
//   SIGHUP                     ignored unless stdin is a terminal; then as SIGTERM
//   SIGPIPE, SIGXFSZ           ignored: the write fails instead
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>

namespace belay::runtime {

struct SignalRequests {
  // Called once, on the signal thread, like all of these. from_itself: this process sent it, not another one.
  std::function<void(int signal, bool from_itself)> stop;
  std::function<void(int signal)> wake;  // half a second later, and repeatedly: the step may wait for input
  std::function<void()> late;            // once, when half of the grace is over
  std::function<void()> save;
  std::function<void()> stacks;
  // Writes the last message before the process ends at once: a second signal came, or the grace of so many seconds is
  // over.
  std::function<void(int signal, std::optional<double> grace_secs)> give_up;
};

class Signals {
 public:
  // Blocks the signals in this thread and in those that it starts. main calls it first, before any thread starts.
  static void block();

  // Begins to handle them.
  explicit Signals(SignalRequests requests);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  // The grace starts at the first stop request. When it is over, the process ends as by a second one. Before this call
  // it is 25.
  void set_grace(double seconds) noexcept { grace_secs_ = seconds; }
  // The signal that asked to stop; 0: none.
  int stop_signal() const noexcept { return stop_signal_.load(); }

  // Ends the process as if the signal were not caught, so the parent sees death by signal.
  [[noreturn]] static void die_of(int signal);

 private:
  void serve();
  [[noreturn]] void give_up(int signal, std::optional<double> grace_secs);

  static constexpr double kWakeSecs = 0.5;

  SignalRequests requests_;
  std::atomic<double> grace_secs_{25};
  std::atomic<int> stop_signal_{0};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

// "SIGTERM"
std::string signal_name(int signal);

}  // namespace belay::runtime
