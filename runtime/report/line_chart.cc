// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/line_chart.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "runtime/report/markup.h"

namespace belay::runtime {
namespace {

constexpr double kWidth = 560, kHeight = 230, kLeft = 60, kRight = 20, kTop = 14, kBottom = 24;
constexpr std::size_t kColours = 8;
constexpr std::size_t kMostDots = 60;  // a line with more points has none

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  void add(double x) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  bool empty() const { return !(low <= high); }
};

Range values_of(const LineChart& chart) {
  Range range;
  for (const ChartLine& line : chart.lines)
    for (const DrawnPoint& p : line.points) range.add(p.low), range.add(p.high);
  return range;
}

// Maps numbers to places in the drawing.
class Axes {
 public:
  explicit Axes(const LineChart& chart) : logarithmic_(is_logarithmic(chart)) {
    for (const ChartLine& line : chart.lines)
      for (const DrawnPoint& p : line.points) steps_.add(p.step);
    for (const ChartMark& m : chart.marks)
      if (!steps_.empty()) steps_.add(m.step);
    const Range values = values_of(chart);
    y_.add(scaled(values.low)), y_.add(scaled(values.high));
    widen(steps_, 0);
    widen(y_, 0.05);
  }
  double x(double step) const {
    return kLeft + (step - steps_.low) / (steps_.high - steps_.low) * (kWidth - kLeft - kRight);
  }
  double y(double value) const {
    return kHeight - kBottom - (scaled(value) - y_.low) / (y_.high - y_.low) * (kHeight - kTop - kBottom);
  }
  std::vector<double> step_ticks() const {
    std::vector<double> ticks = round_ticks(steps_.low, steps_.high, 6);
    std::erase_if(ticks, [](double s) { return s != std::floor(s); });
    return ticks;
  }
  std::vector<double> value_ticks() const {
    if (!logarithmic_) return round_ticks(y_.low, y_.high, 5);
    std::vector<double> ticks;
    const int every = std::max(1, static_cast<int>((y_.high - y_.low) / 5));
    for (int power = static_cast<int>(std::ceil(y_.low)); power <= y_.high; power += every)
      ticks.push_back(std::pow(10.0, power));
    return ticks;
  }

 private:
  double scaled(double value) const { return logarithmic_ ? std::log10(value) : value; }
  static void widen(Range& range, double share) {
    const double size = range.high - range.low;
    const double more = size > 0 ? size * share : range.high == 0 ? 1 : std::max(std::abs(range.high) * 0.1, 1e-12);
    range.low -= more;
    range.high += more;
  }

  bool logarithmic_;
  Range steps_, y_;
};

void add_place(std::string& out, const Axes& axes, double step, double value) {
  add_coordinate(out, axes.x(step));
  out += ' ';
  add_coordinate(out, axes.y(value));
}

void add_attribute(std::string& out, const char* name, double at) {
  out += std::string(" ") + name + "=\"";
  add_coordinate(out, at);
  out += '"';
}

void add_words(std::string& out, const char* type, double x, double y, const std::string& words) {
  out += std::string("<text class=\"") + type + '"';
  add_attribute(out, "x", x);
  add_attribute(out, "y", y);
  out += ">" + html(words) + "</text>";
}

void add_rule(std::string& out, const char* type, double x1, double y1, double x2, double y2) {
  out += std::string("<line class=\"") + type + '"';
  add_attribute(out, "x1", x1);
  add_attribute(out, "y1", y1);
  add_attribute(out, "x2", x2);
  add_attribute(out, "y2", y2);
}

// Works like rounded_number, but fits the room at the left of the axis: "8.5e10", "9.955e-4".
std::string tick_text(double value) {
  constexpr std::size_t kMost = 8;
  std::string plain = rounded_number(value);
  if (plain.size() <= kMost && plain.find('e') == std::string::npos) return plain;
  char text[40];
  const std::string number(text, std::to_chars(text, text + sizeof(text), value, std::chars_format::scientific, 4).ptr);
  const std::size_t e = number.find('e');
  if (e == std::string::npos) return plain;
  std::string digits = number.substr(0, e);
  while (digits.back() == '0') digits.pop_back();
  if (digits.back() == '.') digits.pop_back();
  return digits + "e" + std::to_string(std::stoi(number.substr(e + 1)));
}

void add_axes(std::string& out, const Axes& axes) {
  for (const double v : axes.value_ticks()) {
    add_rule(out, "grid", kLeft, axes.y(v), kWidth - kRight, axes.y(v));
    out += "/>";
    add_words(out, "tick-y", kLeft - 6, axes.y(v) + 3.5, tick_text(v));
  }
  for (const double s : axes.step_ticks()) {
    add_rule(out, "axis", axes.x(s), kHeight - kBottom, axes.x(s), kHeight - kBottom + 4);
    out += "/>";
    add_words(out, "tick-x", axes.x(s), kHeight - 6, s >= 1e5 ? short_count(s) : rounded_number(s));
  }
  add_rule(out, "axis", kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom);
  out += "/>\n";
}

// Shows the range of the values if a point is the mean of several.
void add_band(std::string& out, const Axes& axes, const ChartLine& line, const std::string& colour) {
  if (std::none_of(line.points.begin(), line.points.end(), [](const DrawnPoint& p) { return p.low < p.high; })) return;
  out += "<path class=\"band " + colour + "\" d=\"M";
  for (const DrawnPoint& p : line.points) {
    add_place(out, axes, p.step, p.high);
    out += ' ';
  }
  for (auto p = line.points.rbegin(); p != line.points.rend(); ++p) {
    add_place(out, axes, p->step, p->low);
    out += ' ';
  }
  out += "Z\"/>";
}

void add_dot(std::string& out, const Axes& axes, double step, double value, const std::string& type, const char* radius,
             const std::string& words) {
  out += "<circle class=\"" + type + '"';
  add_attribute(out, "cx", axes.x(step));
  add_attribute(out, "cy", axes.y(value));
  out += std::string(" r=\"") + radius + "\"><title>" + html(words) + "</title></circle>";
}

void add_line(std::string& out, const Axes& axes, const ChartLine& line) {
  const std::string colour = "c" + std::to_string(line.colour % kColours);
  add_band(out, axes, line, colour);
  out += "<path class=\"line " + colour + (line.dashed ? " dashed" : "") + "\" d=\"M";
  for (const DrawnPoint& p : line.points) {
    add_place(out, axes, p.step, p.value);
    out += ' ';
  }
  out += "\"/>";
  if (line.dots && line.points.size() <= kMostDots)
    for (const DrawnPoint& p : line.points)
      add_dot(out, axes, p.step, p.value, "dot " + colour, "2.2",
              line.name + " " + rounded_number(p.value) + " at step " + rounded_number(p.step));
  if (line.best)
    add_dot(out, axes, static_cast<double>(line.best->step), line.best->value, "ring " + colour, "4.5",
            "best: " + rounded_number(line.best->value) + " at step " + std::to_string(line.best->step));
  out += '\n';
}

void add_mark(std::string& out, const Axes& axes, const ChartMark& mark) {
  add_rule(out, "mark", axes.x(mark.step), kTop - 4, axes.x(mark.step), kHeight - kBottom);
  out += "><title>" + html(mark.what) + "</title></line>";
  add_words(out, axes.x(mark.step) > kWidth - 80 ? "mark-word end" : "mark-word", axes.x(mark.step), kTop - 5,
            mark.word);
  out += '\n';
}

}  // namespace

bool is_logarithmic(const LineChart& chart) {
  const Range values = values_of(chart);
  return values.low > 0 && values.high / values.low > 100;
}

std::vector<double> round_ticks(double low, double high, int count) {
  std::vector<double> ticks;
  const double rough = (high - low) / count;
  if (!(rough > 0) || !std::isfinite(rough)) return ticks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power * 10;
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= power * factor * 1.001) {
      step = power * factor;
      break;
    }
  if (!(step > 0)) return ticks;
  for (double at = std::ceil(low / step); at * step <= high + step * 1e-9 && ticks.size() < 20; ++at)
    ticks.push_back(at == 0 ? 0 : at * step);
  return ticks;
}

std::string svg_of(const LineChart& chart) {
  std::string out =
      "<svg class=\"chart\" viewBox=\"0 0 560 230\" role=\"img\" aria-label=\"" + html(chart.title) + "\">";
  if (values_of(chart).empty()) {
    add_words(out, "mark-word", kLeft, kHeight / 2, "no finite value");
    return out + "</svg>\n";
  }
  const Axes axes(chart);
  add_axes(out, axes);
  for (const ChartMark& m : chart.marks) add_mark(out, axes, m);
  for (const ChartLine& line : chart.lines)
    if (!line.points.empty()) add_line(out, axes, line);
  return out + "</svg>\n";
}

}  // namespace belay::runtime
