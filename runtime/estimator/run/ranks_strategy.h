// SPDX-License-Identifier: Apache-2.0
// The strategy of one of several processes that train together (cluster/run_ranks.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/cluster/hook_ranks.h"
#include "runtime/cluster/run_ranks.h"
#include "runtime/estimator/run/run_strategy.h"

namespace belay::runtime {

class RanksStrategy final : public RunStrategy {
 public:
  // Takes its part of the training's input, and the run's queues.
  RanksStrategy(const RunParts& parts, const Manifest& whole, const LaunchedPlace& place);

  bool several() const noexcept override { return true; }
  int rank() const noexcept override { return ranks_.meeting().rank(); }
  int size() const noexcept override { return ranks_.meeting().size(); }
  bool chief() const noexcept override { return ranks_.meeting().chief(); }
  const std::string& directory() const noexcept override { return ranks_.meeting().directory(); }
  bool default_hooks() const noexcept override { return chief(); }
  void check_cluster(Diagnostics& problems) const override;
  void check_launch(Diagnostics& problems) const override;
  CallMonitor& cluster_monitor() override { return ranks_.monitor(); }
  void use_cluster(PluginInstance& cluster, const Manifest& uses) override;
  void build(PluginInstance& model, const RunInput& input, const std::vector<DeclaredLabel>& declared) override;
  void add_training(const OptimizerUse& optimizer) override;
  void refuse(const std::string& reason) override;
  void meet() override;
  std::shared_ptr<SessionCreator> creator(ChiefSessionCreator::Options options) override;
  // No rank leaves a step alone.
  bool wakes_steps() const noexcept override { return false; }
  void note_states() override { ranks_.note_states(); }
  void leave() override { ranks_.leave(); }
  void part() override;

 private:
  RunInput& train_input() { return parts_.inputs.at(kTrainInput); }
  RunRanks::Events events();
  RankVersions versions(const Manifest& alike) const;
  void take_place(int rank, int size);
  void take_schema(const std::string& text);
  void reopen_input(std::int64_t shard, std::int64_t shards, std::shared_ptr<const Schema> learned);

  const LaunchedPlace place_;
  HookRanks* hook_ranks_ = nullptr;  // the training's
  // The input of the training, if this process got another shard, or the schema of rank 0. Null: there is none.
  std::unique_ptr<PluginInstances> input_again_;
  RunRanks ranks_;
};

}  // namespace belay::runtime
