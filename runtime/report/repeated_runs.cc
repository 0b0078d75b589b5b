// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/repeated_runs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace belay::runtime {
namespace {

// True for "run.seed", "input.train.split_seed" and "input.train.fold".
bool repeats(const std::string& key) {
  const std::string name = key.substr(key.rfind('.') + 1);
  return name == "seed" || name.ends_with("_seed") || name == "fold";
}

bool differs_among(const DifferingKey& key, const std::vector<std::size_t>& runs) {
  return std::ranges::any_of(runs, [&](std::size_t run) { return key.values[run] != key.values[runs.front()]; });
}

RepeatedMetric repeated_metric(const ComparedMetric& metric, const std::vector<std::size_t>& runs) {
  std::vector<double> best, last;
  for (const MetricOfRun& of : metric.runs) {
    if (std::ranges::find(runs, of.run) == runs.end()) continue;
    if (of.best) best.push_back(of.best->value);
    if (of.last && std::isfinite(of.last->value)) last.push_back(of.last->value);
  }
  return {metric.name, spread_of(best), spread_of(last)};
}

}  // namespace

std::optional<Spread> spread_of(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  Spread spread{values.size(), 0, 0};
  for (const double value : values) spread.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = std::sqrt(squares / (n - 1));
  return spread;
}

std::vector<RepeatedRuns> repeated_runs(const std::vector<RunRecord>& runs,
                                        const std::vector<ComparedMetric>& metrics) {
  const std::vector<DifferingKey> keys = differing_keys(runs);
  std::map<std::vector<std::string>, std::size_t> group_of;  // by the values of all other keys
  std::vector<RepeatedRuns> groups;
  for (std::size_t run = 0; run < runs.size(); ++run) {
    std::vector<std::string> others;
    for (const DifferingKey& key : keys)
      if (!repeats(key.key)) others.push_back(key.values[run]);
    const auto [group, is_new] = group_of.try_emplace(std::move(others), groups.size());
    if (is_new) groups.emplace_back();
    groups[group->second].runs.push_back(run);
  }
  for (RepeatedRuns& group : groups) {
    for (const DifferingKey& key : keys)
      if (differs_among(key, group.runs)) group.keys.push_back(key.key);
    for (const ComparedMetric& metric : metrics)
      if (RepeatedMetric m = repeated_metric(metric, group.runs); m.best || m.last)
        group.metrics.push_back(std::move(m));
  }
  std::erase_if(groups, [](const RepeatedRuns& group) { return group.runs.size() < 2 || group.keys.empty(); });
  return groups;
}

}  // namespace belay::runtime
