// SPDX-License-Identifier: Apache-2.0
// Runs that repeat one training with other seeds or folds: the mean and the standard deviation of their metrics. [any
// thread]
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "runtime/report/compared_runs.h"
#include "runtime/report/run_record.h"

namespace belay::runtime {

struct Spread {
  std::size_t runs = 0;  // that have a finite value
  double mean = 0;
  double deviation = 0;  // of the sample: the squares are divided by runs - 1
};
// Returns none for fewer than two values.
std::optional<Spread> spread_of(const std::vector<double>& values);

struct RepeatedMetric {
  std::string name;
  std::optional<Spread> best, last;
};

struct RepeatedRuns {
  std::vector<std::size_t> runs;  // two at least, in the given order
  std::vector<std::string> keys;  // of the manifest that differ among them, such as "run.seed"
  std::vector<RepeatedMetric> metrics;
};

// Returns the groups of runs whose manifests differ only in seeds and folds. `metrics` are of the same runs.
std::vector<RepeatedRuns> repeated_runs(const std::vector<RunRecord>& runs, const std::vector<ComparedMetric>& metrics);

}  // namespace belay::runtime
