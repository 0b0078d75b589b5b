// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/coordinated_session.h"

#include "runtime/monitored/hooks/session_hook.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

CoordinatedSession::CoordinatedSession(std::unique_ptr<SessionLayer> inner, std::shared_ptr<Coordinator> coordinator,
                                       double stop_grace_period_secs, Logger& log, std::vector<std::string>* unjoined)
    : SessionLayer(std::move(inner)),
      coordinator_(std::move(coordinator)),
      stop_grace_period_secs_(stop_grace_period_secs),
      log_(log),
      unjoined_(unjoined) {}

bool CoordinatedSession::check_stop() {
  coordinator_->raise_requested_exception();
  return coordinator_->should_stop();
}

template <class F>
auto CoordinatedSession::guarded(F&& f) {
  if (inner() == nullptr) fail(Code::kFailedPrecondition, "[B5070] Run called on a closed session");
  try {
    return f();
  } catch (const Error& e) {
    if (is_preemption(e.code())) throw;
    const std::optional<Error> cause = coordinator_->requested_exception();
    if (cause && is_preemption(cause->code())) throw Error(*cause);
    throw;
  }
}

Run CoordinatedSession::run(const RunCall& call) {
  return guarded([&] { return inner()->run(call); });
}

std::any CoordinatedSession::run_step_fn(const StepFn& step) {
  return guarded([&] { return inner()->run_step_fn(step); });
}

void CoordinatedSession::close() {
  if (inner() == nullptr) return;
  coordinator_->request_stop("the session is closing");
  const auto close_inner = [this]() noexcept {
    try {
      SessionLayer::close();
    } catch (...) {
      log_.warning("", std::string("while the session was closed: ") + current_error().what());
    }
  };
  try {
    const std::vector<std::string> alive = coordinator_->join({}, {stop_grace_period_secs_, true});
    if (!alive.empty()) log_.warning("", "threads are still running after the grace period: " + joined(alive));
    if (unjoined_ != nullptr) unjoined_->insert(unjoined_->end(), alive.begin(), alive.end());
  } catch (...) {
    close_inner();
    throw;
  }
  close_inner();
}

}  // namespace belay::runtime
