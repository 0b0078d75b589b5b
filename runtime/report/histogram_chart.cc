// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/report/line_chart.h"
#include "runtime/report/markup.h"
#include "runtime/report/pictures.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kBins = 60;
constexpr double kChartWidth = 560, kChartLeft = 10, kChartRight = 70, kRowHeight = 18, kPeak = 46, kFoot = 22;

struct Span {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
};

Span span_of(const HistogramsOfTag& histograms) {
  Span span;
  for (const Histogram& h : histograms.steps)
    for (const HistogramBucket& b : h.buckets) {
      span.low = std::min(span.low, b.left);
      span.high = std::max(span.high, b.right);
    }
  if (!(span.high > span.low)) span = {span.low - 0.5, span.low + 0.5};
  return span;
}

// Returns the share of the values in each part of the span. The values of a bucket are spread evenly over it.
std::vector<double> binned(const Histogram& histogram, const Span& span) {
  std::vector<double> bins(kBins, 0);
  const double width = (span.high - span.low) / static_cast<double>(kBins);
  const auto bin_of = [&](double x) {
    return std::min(static_cast<std::size_t>(std::max((x - span.low) / width, 0.0)), kBins - 1);
  };
  for (const HistogramBucket& b : histogram.buckets) {
    const std::size_t first = bin_of(b.left), last = bin_of(b.right);
    const double size = b.right - b.left;
    for (std::size_t i = first; i <= last; ++i) {
      const double begin = span.low + static_cast<double>(i) * width;
      const double inside = std::min(b.right, begin + width) - std::max(b.left, begin);
      bins[i] += first == last ? b.count : b.count * std::max(inside, 0.0) / size;
    }
  }
  return bins;
}

}  // namespace

std::string svg_of(const HistogramsOfTag& histograms) {
  const Span span = span_of(histograms);
  const double height = kPeak + static_cast<double>(histograms.steps.size()) * kRowHeight + kFoot;
  const double plot = kChartWidth - kChartLeft - kChartRight;
  std::string out = "<svg class=\"chart\" viewBox=\"0 0 560 ";
  add_coordinate(out, height);
  out += "\" role=\"img\" aria-label=\"histograms of " + html(histograms.name) + "\">";
  double base = kPeak;
  for (const Histogram& h : histograms.steps) {
    base += kRowHeight;
    const std::vector<double> bins = binned(h, span);
    const double most = std::max(*std::max_element(bins.begin(), bins.end()), 1e-300);
    out += "<path class=\"ridge\" d=\"M";
    const auto place = [&](double x, double y) {
      add_coordinate(out, kChartLeft + x * plot);
      out += ' ';
      add_coordinate(out, y);
      out += ' ';
    };
    place(0, base);
    for (std::size_t i = 0; i < kBins; ++i)
      place((static_cast<double>(i) + 0.5) / static_cast<double>(kBins), base - bins[i] / most * kPeak);
    place(1, base);
    out += "Z\"><title>step " + std::to_string(h.step) + "</title></path><text class=\"tick-row\" x=\"496\" y=\"";
    add_coordinate(out, base);
    out += "\">" + std::to_string(h.step) + "</text>\n";
  }
  for (const double v : round_ticks(span.low, span.high, 5)) {
    out += "<text class=\"tick-x\" x=\"";
    add_coordinate(out, kChartLeft + (v - span.low) / (span.high - span.low) * plot);
    out += "\" y=\"";
    add_coordinate(out, height - 6);
    out += "\">" + rounded_number(v) + "</text>";
  }
  return out + "</svg>\n";
}

}  // namespace belay::runtime
