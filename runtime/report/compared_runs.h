// SPDX-License-Identifier: Apache-2.0
// Runs beside each other: the best and the last value of each metric, and the keys of their manifests that differ.
// [any thread]
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/better.h"
#include "runtime/report/run_record.h"

namespace belay::runtime {

struct MetricOfRun {
  std::size_t run = 0;
  std::optional<CurvePoint> best = {};  // none: the metric's name does not say what is better, or no value is finite
  std::optional<CurvePoint> last = {};
  std::optional<std::int64_t> not_finite_since = {};  // the step from which on it was so to its end; none: the last is
};
struct ComparedMetric {
  std::string name;
  std::optional<Better> better = {};
  std::vector<MetricOfRun> runs;  // the best one first; those that lack it are left out
};

// The step of the last value; of one that is not finite "since 57", the first such step of those at the end.
std::string last_step_text(const MetricOfRun& of);

struct DifferingKey {
  std::string key;
  std::vector<std::string> values;  // of each run, as TOML writes them; empty: not set
};

// Those that `wanted` says, by name.
std::vector<ComparedMetric> compare_metrics(const std::vector<RunRecord>& runs,
                                            const std::function<bool(const std::string& name)>& wanted);
// A metric that is worth a look unasked: its name says what is better, or an evaluation has it.
bool is_metric(const std::string& name);

// Paths that every run has for itself are left out: run.dir.
std::vector<DifferingKey> differing_keys(const std::vector<RunRecord>& runs);

}  // namespace belay::runtime
