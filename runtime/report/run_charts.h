// SPDX-License-Identifier: Apache-2.0
// Selects the curves of each drawing on a page, and their order. Metrics come first, with training and evaluation in
// one drawing. The learning rate is next. Then come all others, with one measure of several variables or layers in one
// drawing. [any thread]
#pragma once

#include <string>
#include <vector>

#include "runtime/report/line_chart.h"
#include "runtime/report/run_record.h"

namespace belay::runtime {

struct RunChart {
  LineChart chart;
  // The text after each line's name: "best 0.021 at step 900, last 0.024". As long as chart.lines.
  std::vector<std::string> remarks;
};

struct ChartSection {
  std::string heading;
  std::string anchor;
  std::vector<RunChart> charts;
};

struct RunCharts {
  std::vector<ChartSection> sections;
  std::size_t left_out = 0;  // tags for which a page has no room
};

RunCharts charts_of(const std::vector<RunRecord>& runs);

// Returns a run's name among others: its path.
std::string name_of_run(const RunRecord& run);

}  // namespace belay::runtime
