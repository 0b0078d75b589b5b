// SPDX-License-Identifier: Apache-2.0
// A session with threads: its coordinator's errors come out of it, and closing it stops and joins the threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/monitored/session_layer.h"
#include "runtime/platform/coordinator.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

class CoordinatedSession final : public SessionLayer {
 public:
  // `unjoined`, if given, gets the names of threads that still run when the grace period is over.
  CoordinatedSession(std::unique_ptr<SessionLayer> inner, std::shared_ptr<Coordinator> coordinator,
                     double stop_grace_period_secs, Logger& log, std::vector<std::string>* unjoined = nullptr);
  // An error of run is replaced by the coordinator's if that is a preemption error and this one is not.
  Run run(const RunCall& call) override;
  std::any run_step_fn(const StepFn& step) override;
  // Asks to stop, closes the raw session's waits, joins the threads for at most the grace period (naming those that
  // still run), and closes the inner layer, whose errors are swallowed. Throws the coordinator's error.
  void close() override;
  Coordinator& coordinator() noexcept { return *coordinator_; }

 protected:
  // Throws the coordinator's recorded error, if any.
  bool check_stop() override;

 private:
  template <class F>
  auto guarded(F&& f);

  std::shared_ptr<Coordinator> coordinator_;
  double stop_grace_period_secs_;
  Logger& log_;
  std::vector<std::string>* unjoined_;
};

}  // namespace belay::runtime
