// SPDX-License-Identifier: Apache-2.0
// Which curves a page draws together, and in what order: metrics first, training and evaluation in one drawing; then
// the learning rate; then everything else, one measure of several variables or layers in one drawing. [any thread]
#pragma once

#include <string>
#include <vector>

#include "runtime/report/line_chart.h"
#include "runtime/report/run_record.h"

namespace belay::runtime {

struct RunChart {
  LineChart chart;
  // Behind each line's name: "best 0.021 at step 900, last 0.024". As long as chart.lines.
  std::vector<std::string> remarks;
};

struct ChartSection {
  std::string heading;
  std::string anchor;
  std::vector<RunChart> charts;
};

struct RunCharts {
  std::vector<ChartSection> sections;
  std::size_t left_out = 0;  // tags beyond those that a page has room for
};

RunCharts charts_of(const std::vector<RunRecord>& runs);

// A run's name among others: its path.
std::string name_of_run(const RunRecord& run);

}  // namespace belay::runtime
