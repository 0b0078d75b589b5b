// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/rank_of_run.h"

#include <algorithm>
#include <string>
#include <variant>

#include "runtime/estimator/run/hooks_on_ranks.h"

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

bool recovers(const Manifest& manifest, const std::optional<LaunchedPlace>& place) {
  return !place || manifest.cluster->on_lost_rank != LostRank::kStop;
}

}  // namespace belay::runtime
