// SPDX-License-Identifier: Apache-2.0
// Draws curves over the global step as an SVG element, with the classes of report/page_style.h. [any thread]
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/report/curves.h"

namespace belay::runtime {

struct ChartLine {
  std::string name;
  std::vector<DrawnPoint> points;
  std::size_t colour = 0;  // index in the page's palette, which repeats
  bool dashed = false;
  std::optional<CurvePoint> best = {};  // has a ring
  bool dots = true;                     // one at each point, unless there are many
};

// A step at which something happened: a vertical line with a word.
struct ChartMark {
  double step = 0;
  std::string word;
  std::string what;  // shown under the mouse
};

struct LineChart {
  std::string title;  // for a listener to the page
  std::vector<ChartLine> lines;
  std::vector<ChartMark> marks;
};

// True if the lines' values are positive and of such different sizes that a logarithmic axis shows them better.
bool is_logarithmic(const LineChart& chart);

std::string svg_of(const LineChart& chart);

// Returns about `count` round numbers from `low` to `high`.
std::vector<double> round_ticks(double low, double high, int count);

}  // namespace belay::runtime
