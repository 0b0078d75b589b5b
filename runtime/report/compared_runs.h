// SPDX-License-Identifier: Apache-2.0
// Compares runs: the best and the last value of each metric, and the keys that differ in their manifests. [any thread]
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
  std::optional<CurvePoint> best = {};  // none: the metric's name does not show the better side, or no value is finite
  std::optional<CurvePoint> last = {};
  std::optional<std::int64_t> not_finite_since = {};  // first step of the values that are not finite up to the end;
                                                      // none: the last value is finite
};
struct ComparedMetric {
  std::string name;
  std::optional<Better> better = {};
  std::vector<MetricOfRun> runs;  // the best one first; runs without the metric are left out
};

// Returns the step of the last value. If that is not finite it returns "since 57", the first such step before the end.
std::string last_step_text(const MetricOfRun& of);

struct DifferingKey {
  std::string key;
  std::vector<std::string> values;  // of each run, in TOML; empty: not set
};

// Compares the metrics that `wanted` selects by name.
std::vector<ComparedMetric> compare_metrics(const std::vector<RunRecord>& runs,
                                            const std::function<bool(const std::string& name)>& wanted);
// True for a metric that is shown by default: its name shows the better side, or an evaluation has it.
bool is_metric(const std::string& name);

// Leaves out paths that differ in every run: run.dir.
std::vector<DifferingKey> differing_keys(const std::vector<RunRecord>& runs);

}  // namespace belay::runtime
