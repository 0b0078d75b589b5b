// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/rank_of_run.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "runtime/data/input_feed.h"
#include "runtime/estimator/hooks_on_ranks.h"

namespace belay::runtime {

Manifest manifest_of_worker(Manifest manifest) {
  manifest.run.dir.clear();
  manifest.run.mode = RunMode::kTrain;
  std::erase_if(manifest.inputs, [](const auto& input) { return input.first != "train"; });
  std::erase_if(manifest.hooks, [&](const PluginUse& hook) { return !on_all_ranks(manifest, hook); });
  manifest.metrics.clear();
  manifest.exporters.clear();
  manifest.eval = {};
  manifest.checkpoint = {};
  manifest.scaffold = {};
  return manifest;
}

bool meets_elsewhere(const ClusterSection& cluster) {
  return std::any_of(cluster.options.begin(), cluster.options.end(), [](const PluginOption& option) {
    const auto* text = std::get_if<std::string>(&option.value);
    return option.key == "rendezvous" && (text == nullptr || !text->empty());
  });
}

std::optional<LaunchedPlace> rank_of(const Manifest& manifest, bool replay, const std::optional<LaunchedPlace>& given,
                                     const Environment& environment) {
  if (!manifest.cluster || !trains(manifest.run.mode) || replay) return std::nullopt;
  try {
    if (LaunchedPlace place = given ? *given : launched_place(environment); place.size > 1) return place;
  } catch (const Error&) {
  }
  return std::nullopt;
}

Manifest manifest_of_rank(const Manifest& manifest, const std::optional<LaunchedPlace>& place) {
  return place && place->rank != 0 ? manifest_of_worker(manifest) : manifest;
}

RankExchange exchange_of(const ClusterSection& cluster, std::int64_t ranks) {
  return {.ranks = ranks, .bucket_mib = cluster.bucket_mib, .rounds_gradients = cluster.wire == Wire::kBf16};
}

bool recovers(const Manifest& manifest, const std::optional<LaunchedPlace>& place) {
  return !place || manifest.cluster->on_lost_rank != OnLostRank::kStop;
}

std::unique_ptr<RunRanks> make_ranks(const Manifest& manifest, const std::optional<LaunchedPlace>& place,
                                     RunControl& control) {
  if (!place) return nullptr;
  RunRanks::Options ranks;
  ranks.rank = place->rank;
  ranks.size = place->size;
  ranks.local_rank = place->local_rank;
  ranks.directory = manifest.run.dir;
  ranks.max_wait_secs = manifest.cluster->max_wait_secs;
  ranks.timeout_secs = manifest.cluster->timeout_secs;
  if (manifest.cluster->wire == Wire::kBf16) ranks.wire = DType::kBFloat16;
  ranks.plugin_meets = meets_elsewhere(*manifest.cluster);
  ranks.on_lost = static_cast<LostRank>(manifest.cluster->on_lost_rank);  // in the same order
  ranks.min_ranks = static_cast<int>(manifest.cluster->min_ranks.value_or(1));
  ranks.max_recoveries = manifest.session.max_recoveries;
  ranks.queue = std::string(kInputScope) + "/" + ranks.input + "_queue";
  return std::make_unique<RunRanks>(std::move(ranks),
                                    RunRanks::Control{[&control] { return control.stopping(); },
                                                      [&control](const std::string& why) { control.stop(why); },
                                                      control.interrupt(), control.disk()});
}

}  // namespace belay::runtime
