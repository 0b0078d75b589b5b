// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/run_strategy.h"

#include <fmt/core.h>

#include <utility>

#include "runtime/cluster/rank_positions.h"
#include "runtime/estimator/run/rank_of_run.h"
#include "runtime/estimator/run/ranks_strategy.h"
#include "runtime/estimator/run/replay_strategy.h"

namespace belay::runtime {
namespace {

class CreatorWithMore final : public SessionCreator {
 public:
  CreatorWithMore(std::unique_ptr<SessionCreator> inner, std::function<void(CreatedSession&)> then)
      : inner_(std::move(inner)), then_(std::move(then)) {}
  CreatedSession create_session() override {
    CreatedSession created = inner_->create_session();
    then_(created);
    return created;
  }
  NodeGraph& graph() override { return inner_->graph(); }

 private:
  const std::unique_ptr<SessionCreator> inner_;
  const std::function<void(CreatedSession&)> then_;
};

}  // namespace

// A single process is a group of one.
void RunStrategy::check_cluster(Diagnostics& problems) const {
  if (parts_.options.place) return;
  if (const std::string reason = why_not_alone(parts_.environment); !reason.empty())
    problems.add(parts_.manifest.cluster->at, fmt::format("[B5110] {}", reason),
                 "start one process; [cluster] may stay");
}

std::string RunStrategy::why_apart() const {
  const bool alone = trains(parts_.manifest.run.mode) && !parts_.manifest.cluster && !parts_.options.place;
  return alone ? runtime::why_apart(parts_.environment) : "";
}

void RunStrategy::build(PluginInstance& model, const RunInput& input, const std::vector<DeclaredLabel>& declared) {
  parts_.model.build(model, input, declared);
}

void RunStrategy::add_training(const OptimizerUse& optimizer) {
  if (!parts_.model.add_training(optimizer))
    parts_.host.log().warning("",
                              "nothing of the input reaches the training step: neither features nor labels are used by "
                              "the loss; each step takes a batch all the same");
}

std::shared_ptr<SessionCreator> RunStrategy::creator(ChiefSessionCreator::Options options) {
  return chief_creator(std::move(options), [this](CreatedSession& created) {
    const std::string said = go_on_alone(*created.session, kTrainInput);
    if (!said.empty()) parts_.host.log().warning("", said);
  });
}

std::shared_ptr<SessionCreator> RunStrategy::chief_creator(ChiefSessionCreator::Options options,
                                                           std::function<void(CreatedSession&)> then) {
  return std::make_shared<CreatorWithMore>(
      std::make_unique<ChiefSessionCreator>(parts_.model.graph, parts_.host.environment(), std::move(options)),
      std::move(then));
}

std::optional<LaunchedPlace> place_of(const Manifest& whole, const PreparedRunOptions& options,
                                      const Environment& variables) {
  return rank_of(whole, options.replay != nullptr, options.place, variables);
}

std::unique_ptr<RunStrategy> make_strategy(const RunParts& parts, const Manifest& whole,
                                           const std::optional<LaunchedPlace>& place) {
  if (parts.options.replay != nullptr) return std::make_unique<ReplayStrategy>(parts);
  if (place) return std::make_unique<RanksStrategy>(parts, whole, *place);
  return std::make_unique<RunStrategy>(parts);
}

}  // namespace belay::runtime
