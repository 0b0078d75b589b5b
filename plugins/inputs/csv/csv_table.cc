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

// What is wrong with the cells of a file, for one message.
class BadCells {
 public:
  // "path:17:4: what"
  void add(const std::string& line) {
    more_ = more_ || (shown_ != 0 && (shown_ == kShown || text_.size() + line.size() > kBytes));
    if (more_) return;
    text_ += (shown_++ == 0 ? "" : "\n") + line;
  }
  // There is no need to look further.
  bool full() const { return more_; }
  void fail_if_any() const {
    if (shown_ == 0) return;
    fail(Code::kDataLoss, text_ + (more_ ? "\nthere are more; these are the first " + std::to_string(shown_) : ""));
  }

 private:
  static constexpr int kShown = 20;
  static constexpr std::size_t kBytes = 3500;  // a plugin's message has at most 4096
  std::string text_;
  int shown_ = 0;
  bool more_ = false;
};

class RowParser {
 public:
  RowParser(const CsvFile& file, const TableColumns& columns) : file_(file), columns_(columns) {}

  void parse_features(std::int64_t row, const std::vector<std::string>& fields, double* out) const {
    for (const std::size_t column : columns_.features) *out++ = number(row, fields, column);
  }

  double number(std::int64_t row, const std::vector<std::string>& fields, std::size_t column) const {
    double value = 0;
    const std::string wrong = parse_number(fields, column, value);
    if (!wrong.empty()) fail(Code::kDataLoss, file_.place(row, column) + ": " + wrong);
    return value;
  }

  // All that is wrong with the file, slowly.
  void fail_with_all() const {
    BadCells bad;
    std::vector<std::size_t> numbers = columns_.features;
    if (columns_.label && columns_.label_type == LabelType::kFloat) numbers.push_back(*columns_.label);
    std::sort(numbers.begin(), numbers.end());
    for (std::int64_t row = 0; row < file_.rows() && !bad.full(); ++row) {
      std::vector<std::string> fields;
      try {
        fields = file_.fields(row);
      } catch (const belay::Error& e) {
        bad.add(e.what());
        continue;
      }
      double value = 0;
      for (const std::size_t column : numbers)
        if (const std::string wrong = parse_number(fields, column, value); !wrong.empty())
          bad.add(file_.place(row, column) + ": " + wrong);
    }
    bad.fail_if_any();
  }

 private:
  // What is wrong with the field; empty: nothing.
  std::string parse_number(const std::vector<std::string>& fields, std::size_t column, double& value) const {
    const std::string& text = fields[column];
    const std::errc error = parse(text, value);
    if (error == std::errc::invalid_argument) return wrong_field(column, text, "not a number");
    if (error != std::errc() || std::fabs(value) > static_cast<double>(std::numeric_limits<float>::max()))
      return wrong_field(column, text, "outside the range of float32");
    return std::isnan(value) ? wrong_field(column, text, "not a number") : "";
  }

  std::string wrong_field(std::size_t column, const std::string& text, const char* what) const {
    const std::string is = text.empty() ? "empty, not a number" : shown(text) + ", " + what;
    const std::string fix =
        columns_.label == column ? "repair the row" : "repair the row, or leave the column out of 'features'";
    return "column \"" + file_.columns()[column] + "\" is " + is + "; " + fix;
  }

  const CsvFile& file_;
  const TableColumns& columns_;
};

// The labels themselves, if they are whole numbers from 0.
std::vector<std::int64_t> numbers_of(const CsvFile& file, std::size_t column, const std::vector<std::string>& labels) {
  std::vector<std::int64_t> numbers(labels.size());
  BadCells bad;
  for (std::size_t row = 0; row < labels.size() && !bad.full(); ++row)
    if (parse(labels[row], numbers[row]) != std::errc() || numbers[row] < 0)
      bad.add(file.place(static_cast<std::int64_t>(row), column) + ": label " + shown(labels[row]) +
              " is not a whole number from 0 like the first one; list the labels in 'classes'");
  bad.fail_if_any();
  return numbers;
}

std::vector<std::int64_t> numbers_by_list(const CsvFile& file, std::size_t column,
                                          const std::vector<std::string>& labels,
                                          const std::vector<std::string>& classes) {
  std::map<std::string, std::int64_t> number_of;
  for (const std::string& text : classes)
    if (!number_of.emplace(text, static_cast<std::int64_t>(number_of.size())).second)
      fail(Code::kInvalidArgument, "'classes' holds " + shown(text) + " twice");
  std::vector<std::int64_t> numbers(labels.size());
  BadCells bad;
  for (std::size_t row = 0; row < labels.size() && !bad.full(); ++row) {
    const auto found = number_of.find(labels[row]);
    if (found != number_of.end())
      numbers[row] = found->second;
    else
      bad.add(file.place(static_cast<std::int64_t>(row), column) + ": label " + shown(labels[row]) +
              " is not one of the " + std::to_string(classes.size()) + " in 'classes'" +
              belay::did_you_mean(labels[row], classes));
  }
  bad.fail_if_any();
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

std::vector<std::int64_t> class_numbers(const CsvFile& file, std::size_t column, const std::vector<std::string>& labels,
                                        const std::vector<std::string>& classes) {
  if (!classes.empty()) return numbers_by_list(file, column, labels, classes);
  std::int64_t first = 0;
  const bool whole = parse(labels[0], first) == std::errc() && first >= 0;
  return whole ? numbers_of(file, column, labels) : numbers_by_appearance(labels);
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
  const auto parse_row = [&](std::int64_t row) {
    const auto r = static_cast<std::size_t>(row);
    std::vector<std::string> fields = file.fields(row);
    parser.parse_features(row, fields, table.features.data() + r * table.width);
    if (has_target) table.targets[r] = static_cast<float>(parser.number(row, fields, *columns.label));
    if (has_class) labels[r] = std::move(fields[*columns.label]);
    if (columns.id) table.ids[r] = std::move(fields[*columns.id]);
  };
  try {
    pool.for_each_row(file.rows(), parse_row);
  } catch (const belay::Error& e) {
    if (e.code() == Code::kDataLoss) parser.fail_with_all();
    throw;
  }
  if (has_class) table.classes = class_numbers(file, *columns.label, labels, columns.classes);
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
