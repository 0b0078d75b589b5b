// SPDX-License-Identifier: Apache-2.0
// A session with threads. It throws its coordinator's errors, and closing it stops and joins the threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/monitored/layers/session_layer.h"
#include "runtime/platform/log/logger.h"
#include "runtime/platform/threads/coordinator.h"

namespace belay::runtime {

class CoordinatedSession final : public SessionLayer {
 public:
  // `unjoined`, if given, gets the names of threads still running after the grace period.
  CoordinatedSession(std::unique_ptr<SessionLayer> inner, std::shared_ptr<Coordinator> coordinator,
                     double stop_grace_period_secs, Logger& log, std::vector<std::string>* unjoined = nullptr);
  // The coordinator's error replaces an error of run if the first is a preemption error and the second is not.
  Run run(const RunCall& call) override;
  std::any run_step_fn(const StepFn& step) override;
  // Asks to stop, closes the raw session's waits, and joins the threads for at most the grace period. It names the
  // threads that still run, then closes the inner layer and drops its errors. Throws the coordinator's error.
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
