// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/matrix.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "belay/log_fields.h"
#include "belay/tensor_text.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kMostColumns = 20;  // of a table

std::size_t columns_of(const Matrix& matrix) { return matrix.empty() ? 0 : matrix[0].size(); }

std::string aligned(const std::vector<std::string>& cells, std::size_t width) {
  std::string line;
  for (const std::string& cell : cells) line += std::string(width - std::min(width, cell.size()), ' ') + cell;
  return line;
}

}  // namespace

Matrix matrix_of(const TensorView& value) {
  const auto rows = static_cast<std::size_t>(value.dim(0)), columns = static_cast<std::size_t>(value.dim(1));
  Matrix matrix(rows);
  for (std::size_t i = 0; i < rows * columns; ++i) matrix[i / columns].push_back(value.number(i));
  return matrix;
}

bool is_too_large(const Matrix& matrix) { return matrix.size() * columns_of(matrix) > kMostMatrixNumbers; }

std::string matrix_json(const Matrix& matrix) {
  std::string text = "[";
  for (const std::vector<double>& row : matrix) {
    text += text.size() == 1 ? "[" : ",[";
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) text += ',';
      text += detail::json_number(row[i]);
    }
    text += "]";
  }
  return text + "]";
}

Matrix parse_matrix(const std::string& json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  Matrix matrix;
  if (!parsed.is_array()) return {};
  for (const auto& row : parsed) {
    std::vector<double>& numbers = matrix.emplace_back();
    if (!row.is_array()) return {};
    for (const auto& number : row)
      numbers.push_back(number.is_number() ? number.get<double>() : std::numeric_limits<double>::quiet_NaN());
  }
  return matrix;
}

std::string cell_text(double number) {
  constexpr double kMostCount = 1e15;
  const bool counts = std::abs(number) < kMostCount && number == std::floor(number);
  return counts ? std::to_string(static_cast<std::int64_t>(number)) : rounded_text(number);
}

std::vector<std::string> matrix_lines(const std::string& title, const Matrix& matrix,
                                      const std::vector<std::string>& names) {
  const std::size_t columns = columns_of(matrix);
  if (std::max(columns, matrix.size()) > kMostColumns)
    return {fmt::format("{}: a matrix [{}, {}]", title, matrix.size(), columns)};
  std::vector<std::vector<std::string>> cells{{""}};
  const bool named = names.size() == matrix.size();
  const auto name = [&](std::size_t i) { return named ? names[i] : std::to_string(i); };
  std::size_t width = 2;
  for (std::size_t j = 0; j < columns; ++j) {
    cells[0].push_back(columns == matrix.size() ? name(j) : std::to_string(j));
    width = std::max(width, cells[0].back().size());
  }
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    std::vector<std::string>& row = cells.emplace_back(1, name(i));
    for (const double number : matrix[i]) row.push_back(cell_text(number));
    for (const std::string& cell : row) width = std::max(width, cell.size());
  }
  std::vector<std::string> lines{title + ":"};
  for (const std::vector<std::string>& row : cells) lines.push_back(aligned(row, width + 2));
  return lines;
}

}  // namespace belay::runtime
