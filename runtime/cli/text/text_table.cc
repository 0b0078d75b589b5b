// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/text/text_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "runtime/platform/text/fixed_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

void TextTable::add(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = escaped(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(const std::string& indent) const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string all;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (widths[i] != 0) line += row[i] + std::string(widths[i] - display_width(row[i]) + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    all += line + "\n";
  }
  return all;
}

std::string count_text(std::uint64_t n, const std::string& what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double size = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(kUnits); ++unit) size /= 1024;
  return fixed_text(size, 1) + " " + kUnits[unit];
}

std::string age_text(std::int64_t ns) {
  constexpr std::int64_t kSecondNs = 1'000'000'000;
  const std::int64_t seconds = std::max<std::int64_t>(ns / kSecondNs, 0);
  if (seconds < 100) return fmt::format("{} s", seconds);
  if (seconds < 100 * 60) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} d", seconds / (24 * 3600));
}

}  // namespace belay::runtime
