// SPDX-License-Identifier: Apache-2.0
// Curves over the global step as an SVG element for a page, which has the classes of report/page_style.h. [any thread]
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/report/curves.h"

namespace belay::runtime {

struct ChartLine {
  std::string name;
  std::vector<DrawnPoint> points;
  std::size_t colour = 0;  // of the page's palette, round and round
  bool dashed = false;
  std::optional<CurvePoint> best = {};  // has a ring
  bool dots = true;                     // one at each point, unless there are many
};

// A step at which something happened: a vertical line with a word.
struct ChartMark {
  double step = 0;
  std::string word;
  std::string what;  // shown where the mouse is over it
};

struct LineChart {
  std::string title;  // for who hears the page
  std::vector<ChartLine> lines;
  std::vector<ChartMark> marks;
};

// Whether the values of the lines are positive and of such different sizes that they are drawn by their logarithms.
bool is_logarithmic(const LineChart& chart);

std::string svg_of(const LineChart& chart);

// Round numbers from `low` to `high`, about `count` of them.
std::vector<double> round_ticks(double low, double high, int count);

}  // namespace belay::runtime
