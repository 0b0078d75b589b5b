// SPDX-License-Identifier: Apache-2.0
// The strategy of a replay: a PreparedRun makes the steps of another run again, by its ReplayTask.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/estimator/run/run_strategy.h"

namespace belay::runtime {

class ReplayStrategy final : public RunStrategy {
 public:
  // The options have a replay.
  explicit ReplayStrategy(const RunParts& parts) : RunStrategy(parts), replay_(*parts.options.replay) {}

  bool own_run() const noexcept override { return false; }
  // Its hooks are all in its manifest.
  bool default_hooks() const noexcept override { return false; }
  std::string why_apart() const override { return {}; }
  void check_launch(Diagnostics& problems) const override {
    replay_.check(parts_.manifest, parts_.plugins.found(), problems);
  }
  void add_hook(const FoundUse& hook, std::size_t place) override;
  void compare_plugins(Diagnostics& problems) const override;
  void add_hooks_of_graph() override;
  std::shared_ptr<SessionCreator> creator(ChiefSessionCreator::Options options) override;
  bool goes_on(MonitoredSession& session, std::int64_t made, RunCall& call) override;

 private:
  void add_watching(const std::string& name, const std::function<void()>& add);
  void add_own_hooks();
  void add_capture();
  void choose_hooks();

  const ReplayTask& replay_;
  HookChoice in_each_;  // of each step
};

}  // namespace belay::runtime
