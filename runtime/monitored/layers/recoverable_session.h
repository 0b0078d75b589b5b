// SPDX-License-Identifier: Apache-2.0
// A session that is made again after a preemption error (ABORTED, UNAVAILABLE). The error comes from its creation, a
// run or a step function, or one of its threads reports it. The same run is repeated, and the caller notices nothing.
//
// The settings limit recoveries without progress: max_recoveries. The first one comes at once, the next after a pause
// that doubles from recovery_backoff_secs up to a minute. Progress is a global step after the last one of all earlier
// sessions. A repeated step is none. The runs of some sessions move no step (an evaluation, a graph without one). Such
// a session makes progress with more runs than its predecessor.
#pragma once

#include <functional>
#include <memory>

#include "belay/runtime/session_settings.h"
#include "runtime/monitored/layers/session_layer.h"

namespace belay::runtime {

class RecoverableSession final : public SessionLayer {
 public:
  using Factory = std::function<std::unique_ptr<SessionLayer>()>;
  // Called before each attempt with the error and the number of earlier recoveries in this run.
  using OnRecovery = std::function<void(const Error&, std::int64_t)>;

  using Pause = std::function<void(double seconds)>;

  // Creates the session at once.
  RecoverableSession(Factory factory, const SessionSettings& settings, Pause pause, OnRecovery on_recovery = {},
                     Logger* log = nullptr);

  Run run(const RunCall& call) override;
  std::any run_step_fn(const StepFn& step) override;
  std::int64_t recoveries() const noexcept { return recoveries_; }

 protected:
  // Makes the session again for a preemption error of a thread, and returns false. It keeps another error for close,
  // and returns true.
  bool check_stop() override;

 private:
  std::unique_ptr<SessionLayer> create();
  void recover(const Error& error);
  void count(const Error& error);  // throws if there were too many
  void back_off();
  void note_run();
  std::int64_t step();  // the variables' global step; -1: there is none
  template <class F>
  auto repeated(F&& f);

  Factory factory_;
  const SessionSettings settings_;
  Pause pause_;
  OnRecovery on_recovery_;
  std::int64_t recoveries_ = 0;
  std::int64_t without_progress_ = 0;
  std::int64_t furthest_step_ = -1;                   // the last committed step of an earlier session
  std::int64_t first_step_ = -1;                      // the step at this session's start; -1: there is none
  std::int64_t runs_ = 0, runs_of_last_session_ = 0;  // returned runs; runs_: of this session
};

}  // namespace belay::runtime
