// SPDX-License-Identifier: Apache-2.0
#include "csv_table.h"

#include <belay/error.h>
#include <belay/nearest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

namespace csv_input {
namespace {

using belay::Code;
using belay::fail;

// A field for a message.
std::string shown(const std::string& text) {
  constexpr std::size_t kShown = 40;
  return '"' + (text.size() <= kShown ? text : text.substr(0, kShown) + "...") + '"';
}

// The whole string as a number, whatever the locale.
template <class T>
std::errc parse(std::string_view text, T& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end != text.data() + text.size() ? std::errc::invalid_argument : error;
}

class RowParser {
 public:
  RowParser(const CsvFile& file, const TableColumns& columns) : file_(file), columns_(columns) {}

  void parse_features(std::int64_t row, const std::vector<std::string>& fields, double* out) const {
    for (const std::size_t column : columns_.features) *out++ = number(row, fields, column);
  }

  double number(std::int64_t row, const std::vector<std::string>& fields, std::size_t column) const {
    const std::string& text = fields[column];
    double value = 0;
    const std::errc error = parse(text, value);
    if (error == std::errc::invalid_argument) fail_field(row, column, text, "not a number");
    if (error != std::errc() || std::fabs(value) > static_cast<double>(std::numeric_limits<float>::max()))
      fail_field(row, column, text, "outside the range of float32");
    if (std::isnan(value)) fail_field(row, column, text, "not a number");
    return value;
  }

 private:
  [[noreturn]] void fail_field(std::int64_t row, std::size_t column, const std::string& text, const char* what) const {
    const std::string is = text.empty() ? "empty, not a number" : shown(text) + ", " + what;
    const std::string fix =
        columns_.label == column ? "repair the row" : "repair the row, or leave the column out of 'features'";
    fail(Code::kDataLoss, file_.place(row) + ": column \"" + file_.columns()[column] + "\" is " + is + "; " + fix);
  }

  const CsvFile& file_;
  const TableColumns& columns_;
};

// The labels themselves, if they are whole numbers from 0.
std::vector<std::int64_t> numbers_of(const CsvFile& file, const std::vector<std::string>& labels) {
  std::vector<std::int64_t> numbers(labels.size());
  for (std::size_t row = 0; row < labels.size(); ++row)
    if (parse(labels[row], numbers[row]) != std::errc() || numbers[row] < 0)
      fail(Code::kDataLoss, file.place(static_cast<std::int64_t>(row)) + ": label " + shown(labels[row]) +
                                " is not a whole number from 0 like the first one; list the labels in 'classes'");
  return numbers;
}

std::vector<std::int64_t> numbers_by_list(const CsvFile& file, const std::vector<std::string>& labels,
                                          const std::vector<std::string>& classes) {
  std::map<std::string, std::int64_t> number_of;
  for (const std::string& text : classes)
    if (!number_of.emplace(text, static_cast<std::int64_t>(number_of.size())).second)
      fail(Code::kInvalidArgument, "'classes' holds " + shown(text) + " twice");
  std::vector<std::int64_t> numbers(labels.size());
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto found = number_of.find(labels[row]);
    if (found == number_of.end())
      fail(Code::kDataLoss, file.place(static_cast<std::int64_t>(row)) + ": label " + shown(labels[row]) +
                                " is not one of the " + std::to_string(classes.size()) + " in 'classes'" +
                                belay::did_you_mean(labels[row], classes));
    numbers[row] = found->second;
  }
  return numbers;
}

std::vector<std::int64_t> numbers_by_appearance(const std::vector<std::string>& labels) {
  std::map<std::string, std::int64_t> number_of;
  std::vector<std::int64_t> numbers;
  numbers.reserve(labels.size());
  for (const std::string& label : labels)
    numbers.push_back(number_of.emplace(label, static_cast<std::int64_t>(number_of.size())).first->second);
  return numbers;
}

std::vector<std::int64_t> class_numbers(const CsvFile& file, const std::vector<std::string>& labels,
                                        const std::vector<std::string>& classes) {
  if (!classes.empty()) return numbers_by_list(file, labels, classes);
  std::int64_t first = 0;
  const bool whole = parse(labels[0], first) == std::errc() && first >= 0;
  return whole ? numbers_of(file, labels) : numbers_by_appearance(labels);
}

}  // namespace

Table parse_table(const CsvFile& file, const TableColumns& columns, belay::DecodePool& pool) {
  const auto rows = static_cast<std::size_t>(file.rows());
  const bool has_class = columns.label && columns.label_type == LabelType::kClass;
  const bool has_target = columns.label && columns.label_type == LabelType::kFloat;
  Table table;
  table.width = columns.features.size();
  table.features.resize(rows * table.width);
  table.targets.resize(has_target ? rows : 0);
  table.ids.resize(columns.id ? rows : 0);
  std::vector<std::string> labels(has_class ? rows : 0);
  const RowParser parser(file, columns);
  pool.for_each_row(file.rows(), [&](std::int64_t row) {
    const auto r = static_cast<std::size_t>(row);
    std::vector<std::string> fields = file.fields(row);
    parser.parse_features(row, fields, table.features.data() + r * table.width);
    if (has_target) table.targets[r] = static_cast<float>(parser.number(row, fields, *columns.label));
    if (has_class) labels[r] = std::move(fields[*columns.label]);
    if (columns.id) table.ids[r] = std::move(fields[*columns.id]);
  });
  if (has_class) table.classes = class_numbers(file, labels, columns.classes);
  return table;
}

void standardize(Table& table, const std::vector<std::int64_t>& rows) {
  const auto n = static_cast<double>(rows.size());
  for (std::size_t column = 0; column < table.width; ++column) {
    const auto value = [&](std::int64_t row) -> double& {
      return table.features[static_cast<std::size_t>(row) * table.width + column];
    };
    double sum = 0, squares = 0;
    for (const std::int64_t row : rows) sum += value(row);
    const double mean = sum / n;
    for (const std::int64_t row : rows) squares += (value(row) - mean) * (value(row) - mean);
    const double deviation = squares > 0 ? std::sqrt(squares / n) : 1;
    for (std::size_t at = column; at < table.features.size(); at += table.width)
      table.features[at] = (table.features[at] - mean) / deviation;
  }
}

}  // namespace csv_input
