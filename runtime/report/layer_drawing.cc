// SPDX-License-Identifier: Apache-2.0
// Draws a model's layers in rows from the input down to the loss. Each layer is one row below the lowest layer that it
// uses.
#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "runtime/platform/text/text.h"
#include "runtime/report/markup.h"
#include "runtime/report/model_layers.h"

namespace belay::runtime {
namespace {

constexpr double kBoxWidth = 230, kBoxHeight = 52, kBetweenBoxes = 30, kBetweenRows = 34, kEdge = 10;
constexpr std::size_t kLanes = 4;

// Escapes a text for a string of the language DOT.
std::string dot_text(const std::string& text) {
  std::string out;
  for (const char c : escaped(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::vector<std::string> words_of(const ModelLayer& layer) {
  std::vector<std::string> words = {ops_text(layer), layer.output.text()};
  if (layer.parameters != 0) words[1] += ", " + grouped_number(layer.parameters) + " parameters";
  return words;
}

struct Spot {
  double x = 0, y = 0;  // the middle of the upper edge
};

struct Drawing {
  std::vector<Spot> places;
  double width = 0, height = 0;
};

std::vector<std::vector<std::size_t>> rows_of(const std::vector<ModelLayer>& layers) {
  std::vector<std::vector<std::size_t>> rows;
  std::vector<std::size_t> row_of(layers.size(), 0);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (const std::size_t from : layers[i].from)
      if (from < i) row_of[i] = std::max(row_of[i], row_of[from] + 1);
    if (rows.size() <= row_of[i]) rows.resize(row_of[i] + 1);
    rows[row_of[i]].push_back(i);
  }
  return rows;
}

// Sorts the layers of a row in the order of the layers that they use.
Drawing laid_out(const std::vector<ModelLayer>& layers) {
  Drawing d;
  d.places.resize(layers.size());
  const auto rows = rows_of(layers);
  std::size_t widest = 1;
  for (const auto& row : rows) widest = std::max(widest, row.size());
  d.width = 2 * kEdge + static_cast<double>(widest) * (kBoxWidth + kBetweenBoxes) - kBetweenBoxes;
  double y = kEdge;
  for (std::vector<std::size_t> row : rows) {
    const auto wish = [&](std::size_t i) {
      double sum = 0, count = 0;
      for (const std::size_t from : layers[i].from)
        if (from < i) sum += d.places[from].x, ++count;
      return count > 0 ? sum / count : d.width / 2;
    };
    std::stable_sort(row.begin(), row.end(), [&](std::size_t a, std::size_t b) { return wish(a) < wish(b); });
    double x = (d.width - static_cast<double>(row.size() - 1) * (kBoxWidth + kBetweenBoxes)) / 2;
    for (const std::size_t i : row) {
      d.places[i] = {x, y};
      x += kBoxWidth + kBetweenBoxes;
    }
    y += kBoxHeight + kBetweenRows;
  }
  d.height = y - kBetweenRows + kEdge;
  d.width += kBetweenBoxes;  // for lanes beside the last box
  return d;
}

void add_text_line(std::string& out, const char* type, double x, double y, const std::string& text) {
  constexpr std::size_t kColumns = 38;
  const std::string shown =
      display_width(text) <= kColumns ? text : std::string(cut_to_width(text, kColumns - 3)) + "...";
  out += std::string("<text class=\"") + type + "\" x=\"";
  add_coordinate(out, x);
  out += "\" y=\"";
  add_coordinate(out, y);
  out += "\">" + html(shown) + "</text>";
}

void add_points(std::string& out, const char* before, std::initializer_list<Spot> points) {
  out += before;
  for (const Spot& p : points) {
    add_coordinate(out, p.x);
    out += ' ';
    add_coordinate(out, p.y);
    out += ' ';
  }
}

// Draws a straight arrow to a box in the next row. A longer one passes the boxes between on a lane beside them.
void add_arrow(std::string& out, const Spot& from, const Spot& to, std::size_t lane) {
  const double begin = from.y + kBoxHeight, end = to.y;
  const bool far = end - begin > kBoxHeight;
  const double shift = far ? kBoxWidth * 0.34 : 0, tip = to.x + shift, start = from.x + shift;
  out += "<path class=\"arrow\" d=\"";
  add_points(out, "M", {{start, begin}});
  if (far) {
    const double x = std::max(from.x, to.x) + kBoxWidth / 2 + 9 + static_cast<double>(lane % kLanes) * 8;
    add_points(out, "C", {{start, begin + 18}, {x, begin + 6}, {x, begin + 30}});
    add_points(out, "L", {{x, end - 30}});
    add_points(out, "C", {{x, end - 6}, {tip, end - 24}, {tip, end - 6}});
  } else {
    add_points(out, "C", {{start, begin + 12}, {tip, end - 14}, {tip, end - 6}});
  }
  out += "\"/><path class=\"tip\" d=\"";
  add_points(out, "M", {{tip - 4, end - 7}});
  out += "h8l-4 7Z\"/>\n";
}

void add_box(std::string& out, const ModelLayer& layer, const Spot& at) {
  out += "<g><title>" +
         html(layer.name + ": " + joined(layer.ops) + ", " + short_count(layer.flops) + " operations an example") +
         "</title><rect class=\"" + (layer.parameters != 0 ? "box trained" : "box") + "\" rx=\"6\" x=\"";
  add_coordinate(out, at.x - kBoxWidth / 2);
  out += "\" y=\"";
  add_coordinate(out, at.y);
  out += "\" width=\"";
  add_coordinate(out, kBoxWidth);
  out += "\" height=\"";
  add_coordinate(out, kBoxHeight);
  out += "\"/>";
  const std::vector<std::string> words = words_of(layer);
  add_text_line(out, "box-name", at.x, at.y + 17, layer.name);
  add_text_line(out, "box-word", at.x, at.y + 31, words[0]);
  add_text_line(out, "box-word", at.x, at.y + 44, words[1]);
  out += "</g>\n";
}

constexpr const char* kStyleOfFile =
    "<style>svg{background:#fff;font-family:system-ui,sans-serif}.box{fill:#f1f4f8;stroke:#9aa6b5}"
    ".trained{fill:#e3edff;stroke:#2563eb}.box-name{font-size:13px;font-weight:600;text-anchor:middle;fill:#1c2430}"
    ".box-word{font-size:11px;text-anchor:middle;fill:#5d6878}.arrow{fill:none;stroke:#7b8794;stroke-width:1.3}"
    ".tip{fill:#7b8794}</style>";

}  // namespace

std::string dot_of(const std::vector<ModelLayer>& layers, const std::string& title) {
  std::string out = "digraph \"" + dot_text(title) + "\" {\n  rankdir=TB\n  node [shape=box, style=rounded]\n";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    out += "  n" + std::to_string(i) + " [label=\"" + dot_text(layers[i].name);
    for (const std::string& words : words_of(layers[i])) out += "\\n" + dot_text(words);
    out += "\"]\n";
  }
  for (std::size_t i = 0; i < layers.size(); ++i)
    for (const std::size_t from : layers[i].from)
      out += "  n" + std::to_string(from) + " -> n" + std::to_string(i) + "\n";
  return out + "}\n";
}

std::string svg_of(const std::vector<ModelLayer>& layers, const std::string& title, bool own_file) {
  const Drawing drawing = laid_out(layers);
  std::string out = own_file ? "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " : "<svg viewBox=\"0 0 ";
  std::string width, height;
  add_coordinate(width, drawing.width);
  add_coordinate(height, drawing.height);
  out += width + " " + height + "\" width=\"" + width + "\" height=\"" + height + "\" role=\"img\" aria-label=\"" +
         html(title) + "\">" + (own_file ? kStyleOfFile : "") + "<title>" + html(title) + "</title>\n";
  std::size_t lane = 0;
  for (std::size_t i = 0; i < layers.size(); ++i)
    for (const std::size_t from : layers[i].from)
      if (from < i) add_arrow(out, drawing.places[from], drawing.places[i], lane++);
  for (std::size_t i = 0; i < layers.size(); ++i) add_box(out, layers[i], drawing.places[i]);
  return out + "</svg>\n";
}

}  // namespace belay::runtime
