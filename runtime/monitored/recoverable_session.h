// SPDX-License-Identifier: Apache-2.0
// A session that is made again after a preemption error (ABORTED, UNAVAILABLE): out of its creation, a run or a step
// function, or reported by one of its threads. The same run is repeated; the caller sees nothing.
//
// Recoveries without progress are bounded by the settings: max_recoveries, the first at once, then with a pause that
// doubles from recovery_backoff_secs up to a minute. Progress is a global step beyond all that any session before has
// committed: a step that is only made again is none. A session whose runs move no step (an evaluation, a graph without
// one) makes progress with more runs than the session before it.
#pragma once

#include <functional>
#include <memory>

#include "belay/runtime/session_settings.h"
#include "runtime/monitored/session_layer.h"

namespace belay::runtime {

class RecoverableSession final : public SessionLayer {
 public:
  using Factory = std::function<std::unique_ptr<SessionLayer>()>;
  // Called before each attempt, with: the error and how many recoveries there have been in this run.
  using OnRecovery = std::function<void(const Error&, std::int64_t)>;

  using Pause = std::function<void(double seconds)>;

  // Creates at once.
  RecoverableSession(Factory factory, const SessionSettings& settings, Pause pause, OnRecovery on_recovery = {},
                     Logger* log = nullptr);

  Run run(const RunCall& call) override;
  std::any run_step_fn(const StepFn& step) override;
  std::int64_t recoveries() const noexcept { return recoveries_; }

 protected:
  // A preemption error that a thread reported makes the session anew (false); another error is kept for close (true).
  bool check_stop() override;

 private:
  std::unique_ptr<SessionLayer> create();
  void recover(const Error& error);
  void count(const Error& error);  // throws where it was once too often
  void back_off();
  void note_run();
  std::int64_t step();  // that the variables are at; -1: there is none
  template <class F>
  auto repeated(F&& f);

  Factory factory_;
  const SessionSettings settings_;
  Pause pause_;
  OnRecovery on_recovery_;
  std::int64_t recoveries_ = 0;
  std::int64_t without_progress_ = 0;
  std::int64_t furthest_step_ = -1;                   // that a session before this one has committed
  std::int64_t first_step_ = -1;                      // that this session began with
  std::int64_t runs_ = 0, runs_of_last_session_ = 0;  // that have returned; runs_: of this session
};

}  // namespace belay::runtime
