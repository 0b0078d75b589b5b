// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/session_layer.h"

#include "runtime/monitored/hooks/session_hook.h"

namespace belay::runtime {

bool SessionLayer::should_stop() {
  if (check_stop()) return true;
  return inner_ == nullptr ? closed_ : inner_->should_stop();
}

void SessionLayer::close() {
  if (inner_ == nullptr) return;
  const std::unique_ptr<SessionLayer> closing = std::move(inner_);
  closed_ = true;
  try {
    closing->close();
  } catch (const Error& e) {
    if (!is_preemption(e.code())) throw;
    if (log_ != nullptr) log_->warning("", std::string("while the session was closed: ") + e.what());
  }
}

Run RawLayer::run(const RunCall& call) {
  if (session_ == nullptr) fail(Code::kFailedPrecondition, "[B5070] Run called on a closed session");
  RunRequest request;
  request.fetches = call.fetches;
  request.feeds = call.feeds;
  request.full_team = true;
  request.metadata = call.metadata;
  if (call.options != nullptr) {
    request.timeout_ms = call.options->timeout_ms;
    request.trace_level = static_cast<std::int32_t>(call.options->trace_level);
  }
  return session_->run(request);
}

std::any RawLayer::run_step_fn(const StepFn& step) {
  if (session_ == nullptr) fail(Code::kFailedPrecondition, "[B5070] Run called on a closed session");
  StepFnContext context(*session_, [this](const RunCall& call) { return run(call); });
  return step(context);
}

void RawLayer::close() {
  if (session_ == nullptr) return;
  session_->close();
  session_.reset();
}

}  // namespace belay::runtime
