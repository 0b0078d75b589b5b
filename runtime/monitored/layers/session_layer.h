// SPDX-License-Identifier: Apache-2.0
// The layers of a monitored session, each around the next, the outermost first:
//
//   MonitoredSession -> RecoverableSession (absent in SingularMonitoredSession) -> CoordinatedSession -> HookedSession
//   -> the raw session
//
// The coordinated and hooked layers, the raw session and the coordinator are made again at every recovery. [session]
// thread, unless a comment names another.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "runtime/platform/log/logger.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

class HookChoice;

// A caller's run. The caller owns the fetch set, and using it again costs no look-up.
struct RunCall {
  FetchSet* fetches = nullptr;
  std::span<const belay_feed> feeds = {};
  const CallerOptions* options = nullptr;  // null: defaults
  RunMetadata* metadata = nullptr;         // may be null
  const HookChoice* hooks = nullptr;       // the hooks of the run (session_hook.h); null: all
};

class StepFnContext;
using StepFn = std::function<std::any(StepFnContext&)>;

// The argument of a step function: the raw session, hooked runs, and a way to end the loop.
class StepFnContext {
 public:
  StepFnContext(DirectSession& session, std::function<Run(const RunCall&)> run_with_hooks)
      : session_(session), run_with_hooks_(std::move(run_with_hooks)) {}
  // Runs through it call no hooks.
  DirectSession& session() noexcept { return session_; }
  Run run_with_hooks(const RunCall& call) { return run_with_hooks_(call); }
  // Ends run_step_fn with STOP.
  [[noreturn]] void request_stop(const std::string& reason = "step function asked to stop") {
    fail(Code::kStop, reason);
  }

 private:
  DirectSession& session_;
  std::function<Run(const RunCall&)> run_with_hooks_;
};

class SessionLayer {
 public:
  // The log, if given, gets a line for every error that close swallows.
  explicit SessionLayer(std::unique_ptr<SessionLayer> inner, Logger* log = nullptr)
      : inner_(std::move(inner)), log_(log) {}
  virtual ~SessionLayer() = default;
  SessionLayer(const SessionLayer&) = delete;
  SessionLayer& operator=(const SessionLayer&) = delete;

  virtual Run run(const RunCall& call) { return inner_->run(call); }
  virtual std::any run_step_fn(const StepFn& step) { return inner_->run_step_fn(step); }
  // Returns its own check's result, or else the inner layer's. It is true after close.
  bool should_stop();
  // Swallows preemption errors with a warning, throws others, and drops the inner layer in every case. A second call
  // does nothing.
  virtual void close();
  // It is null after close.
  virtual DirectSession* raw() { return inner_ == nullptr ? nullptr : inner_->raw(); }

 protected:
  virtual bool check_stop() { return false; }
  SessionLayer* inner() noexcept { return inner_.get(); }
  std::unique_ptr<SessionLayer> inner_;

 private:
  Logger* log_;
  bool closed_ = false;
};

// The innermost layer: the raw session itself.
class RawLayer final : public SessionLayer {
 public:
  explicit RawLayer(std::shared_ptr<DirectSession> session) : SessionLayer(nullptr), session_(std::move(session)) {}
  Run run(const RunCall& call) override;
  std::any run_step_fn(const StepFn& step) override;
  void close() override;
  DirectSession* raw() override { return session_.get(); }

 protected:
  bool check_stop() override { return session_ == nullptr; }

 private:
  std::shared_ptr<DirectSession> session_;
};

}  // namespace belay::runtime
