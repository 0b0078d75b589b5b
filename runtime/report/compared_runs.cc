// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/compared_runs.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

namespace belay::runtime {

std::string last_step_text(const MetricOfRun& of) {
  if (of.not_finite_since) return fmt::format("since {}", *of.not_finite_since);
  return of.last ? std::to_string(of.last->step) : "";
}

bool is_metric(const std::string& name) { return better_by_name(name).has_value() || name.starts_with("eval"); }

std::vector<ComparedMetric> compare_metrics(const std::vector<RunRecord>& runs,
                                            const std::function<bool(const std::string& name)>& wanted) {
  std::map<std::string, ComparedMetric> metrics;
  for (std::size_t run = 0; run < runs.size(); ++run)
    for (const Curve& curve : runs[run].curves) {
      const std::string name = metric_name(curve);
      if (!wanted(name)) continue;
      ComparedMetric& m = metrics.try_emplace(name, ComparedMetric{name, better_by_name(name), {}}).first->second;
      MetricOfRun of_run{run, std::nullopt, last_of(curve), not_finite_since(curve)};
      if (m.better) of_run.best = best_of(curve, *m.better);
      m.runs.push_back(of_run);
    }
  std::vector<ComparedMetric> all;
  for (auto& [name, m] : metrics) {
    const double sign = m.better == Better::kLarger ? -1 : 1;
    std::stable_sort(m.runs.begin(), m.runs.end(), [&](const MetricOfRun& a, const MetricOfRun& b) {
      if (!a.best || !b.best) return a.best.has_value() > b.best.has_value();
      return sign * a.best->value < sign * b.best->value;
    });
    all.push_back(std::move(m));
  }
  return all;
}

namespace {

// Every hook and input has these options. If a plugin is in only one run, their defaults add nothing to its row.
bool is_default_of_absent_plugin(const std::string& key, const std::vector<std::string>& values) {
  const std::string usual = key.ends_with(".on_error")   ? (key.starts_with("exporters.") ? "\"continue\"" : "\"stop\"")
                            : key.ends_with(".prefetch") ? "2"
                                                         : "";
  return !usual.empty() && std::ranges::find(values, "") != values.end() &&
         std::ranges::all_of(values, [&](const std::string& v) { return v.empty() || v == usual; });
}

}  // namespace

std::vector<DifferingKey> differing_keys(const std::vector<RunRecord>& runs) {
  std::map<std::string, std::vector<std::string>> values;
  std::vector<std::string> order;
  for (std::size_t run = 0; run < runs.size(); ++run)
    for (auto& [key, value] : keys_of(runs[run].manifest)) {
      const auto [at, is_new] = values.try_emplace(key, runs.size());
      if (is_new) order.push_back(key);
      at->second[run] = value;
    }
  std::vector<DifferingKey> differing;
  for (const std::string& key : order) {
    std::vector<std::string>& of_key = values[key];
    const bool same = std::all_of(of_key.begin(), of_key.end(), [&](const std::string& v) { return v == of_key[0]; });
    if (!same && key != "run.dir" && !is_default_of_absent_plugin(key, of_key))
      differing.push_back({key, std::move(of_key)});
  }
  return differing;
}

}  // namespace belay::runtime
