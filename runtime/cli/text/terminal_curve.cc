// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/text/terminal_curve.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/report/markup.h"  // rounded_number

namespace belay::runtime {
namespace {

// Dots of a drawing: characters, or eighths of characters.
class DotGrid {
 public:
  DotGrid(std::size_t columns, std::size_t rows, bool braille)
      : braille_(braille),
        width_(columns * (braille ? 2 : 1)),
        height_(rows * (braille ? 4 : 1)),
        dots_(width_ * height_) {}
  std::size_t width() const { return width_; }
  std::size_t height() const { return height_; }
  void set(std::size_t x, std::size_t y) { dots_[y * width_ + x] = true; }

  std::string row(std::size_t r) const {
    std::string line;
    std::size_t used = 0;
    const std::size_t columns = braille_ ? width_ / 2 : width_;
    for (std::size_t c = 0; c < columns; ++c) {
      const unsigned bits = bits_of(c, r);
      add_character(line, bits);
      if (bits != 0) used = line.size();
    }
    line.resize(used);
    return line;
  }

 private:
  // The order is that of braille: the left column's three upper dots, the right one's, then the two lowest.
  unsigned bits_of(std::size_t c, std::size_t r) const {
    if (!braille_) return dots_[r * width_ + c] ? 1 : 0;
    constexpr unsigned kBits[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    unsigned bits = 0;
    for (std::size_t y = 0; y < 4; ++y)
      for (std::size_t x = 0; x < 2; ++x)
        if (dots_[(r * 4 + y) * width_ + c * 2 + x]) bits |= kBits[y][x];
    return bits;
  }
  void add_character(std::string& line, unsigned bits) const {
    if (!braille_ || bits == 0) {
      line += bits == 0 ? ' ' : '*';
      return;
    }
    line += '\xe2';  // U+2800 and the bits
    line += static_cast<char>(0xa0 | bits >> 6);
    line += static_cast<char>(0x80 | (bits & 63));
  }

  bool braille_;
  std::size_t width_, height_;
  std::vector<bool> dots_;
};

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text;
}

}  // namespace

std::string terminal_curve(const Curve& curve, std::size_t columns, std::size_t rows, bool braille,
                           const std::string& indent) {
  DotGrid grid(columns, rows, braille);
  const std::vector<DrawnPoint> points = thinned(curve, grid.width());
  if (points.empty()) return "";
  const auto by_value = [](const DrawnPoint& a, const DrawnPoint& b) { return a.value < b.value; };
  const double low = std::min_element(points.begin(), points.end(), by_value)->value;
  const double high = std::max_element(points.begin(), points.end(), by_value)->value;
  const bool logarithmic = low > 0 && high / low > 100;
  const auto scaled = [&](double v) { return logarithmic ? std::log10(v) : v; };
  const auto place = [](double share, std::size_t size) {
    return static_cast<std::size_t>(std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(size - 1)));
  };
  const auto share_of = [](double x, double from, double to) { return to > from ? (x - from) / (to - from) : 0.5; };
  std::size_t before = 0;
  for (const DrawnPoint& p : points) {
    const std::size_t x = place(share_of(p.step, points.front().step, points.back().step), grid.width());
    const std::size_t y = place(1 - share_of(scaled(p.value), scaled(low), scaled(high)), grid.height());
    const std::size_t from = &p == &points.front() ? y : before;
    for (std::size_t at = std::min(from, y); at <= std::max(from, y); ++at)
      if (at != from || from == y) grid.set(x, at);
    before = y;
  }
  const std::string top = rounded_number(high), bottom = rounded_number(low);
  const std::size_t margin = std::max(top.size(), bottom.size());
  std::string text;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::string line = grid.row(r);
    text += indent +
            padded(r == 0          ? top
                   : r + 1 == rows ? bottom
                                   : "",
                   margin) +
            (line.empty() ? " |" : " |" + line) + "\n";
  }
  const std::string first = std::to_string(curve.points.front().step), last = std::to_string(curve.points.back().step);
  const std::size_t rest = std::max(columns, first.size() + last.size() + 1) - first.size();
  return text + indent + std::string(margin + 2, ' ') + first + padded(last, rest) +
         (logarithmic ? "   (logarithmic)" : "") + "\n";
}

}  // namespace belay::runtime
