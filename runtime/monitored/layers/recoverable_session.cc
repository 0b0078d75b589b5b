// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/recoverable_session.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "runtime/monitored/hooks/session_hook.h"

namespace belay::runtime {

RecoverableSession::RecoverableSession(Factory factory, const SessionSettings& settings, Pause pause,
                                       OnRecovery on_recovery, Logger* log)
    : SessionLayer(nullptr, log),
      factory_(std::move(factory)),
      settings_(settings),
      pause_(std::move(pause)),
      on_recovery_(std::move(on_recovery)) {
  inner_ = create();
  first_step_ = furthest_step_ = step();
}

void RecoverableSession::count(const Error& error) {
  if (without_progress_ >= settings_.max_recoveries)
    fail(Code::kInternal, fmt::format("[B5086] gave up after {} recoveries in a row{}: {}", without_progress_,
                                      without_progress_ > 0 && furthest_step_ > 0
                                          ? ", none of which came beyond step " + std::to_string(furthest_step_)
                                          : "",
                                      error.what()));
  ++recoveries_;
  ++without_progress_;
  if (on_recovery_) on_recovery_(error, recoveries_);
}

void RecoverableSession::back_off() {
  if (without_progress_ < 2) return;
  double seconds = settings_.recovery_backoff_secs;
  for (std::int64_t i = 2; i < without_progress_ && seconds < 60; ++i) seconds *= 2;
  pause_(std::min(seconds, 60.0));
}

std::unique_ptr<SessionLayer> RecoverableSession::create() {
  for (;;) {
    try {
      return factory_();
    } catch (const Error& e) {
      if (!is_preemption(e.code())) throw;
      count(e);
      back_off();
    }
  }
}

std::int64_t RecoverableSession::step() {
  const DirectSession* session = raw();
  return session == nullptr ? -1 : session->global_step();
}

void RecoverableSession::note_run() {
  ++runs_;
  if (without_progress_ == 0) return;
  const std::int64_t now = step();
  if (now == first_step_ ? runs_ > runs_of_last_session_ : now > furthest_step_) without_progress_ = 0;
}

void RecoverableSession::recover(const Error& error) {
  if (const std::int64_t committed = step(); committed > furthest_step_) {
    furthest_step_ = committed;
    without_progress_ = 0;
  }
  runs_of_last_session_ = std::exchange(runs_, 0);
  without_end_of_input([&] {
    count(error);
    SessionLayer::close();  // a preemption error there is swallowed, another one leaves the run
  });
  back_off();
  inner_ = create();
  first_step_ = step();
}

template <class F>
auto RecoverableSession::repeated(F&& f) {
  if (inner() == nullptr) fail(Code::kFailedPrecondition, "[B5070] Run called on a closed session");
  for (;;) {
    try {
      auto result = f();
      note_run();
      return result;
    } catch (const Error& e) {
      if (!is_preemption(e.code())) throw;
      recover(e);
    }
  }
}

Run RecoverableSession::run(const RunCall& call) {
  return repeated([&] { return inner()->run(call); });
}

std::any RecoverableSession::run_step_fn(const StepFn& step) {
  return repeated([&] { return inner()->run_step_fn(step); });
}

bool RecoverableSession::check_stop() {
  if (inner() == nullptr) return true;
  try {
    return inner()->should_stop();
  } catch (const Error& e) {
    if (!is_preemption(e.code())) return true;
    recover(e);
    return false;
  }
}

}  // namespace belay::runtime
