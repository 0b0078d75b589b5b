// SPDX-License-Identifier: Apache-2.0
#include "csv_table.h"

#include <belay/error.h>
#include <belay/nearest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

namespace csv_input {
namespace {

using belay::Code;
using belay::fail;

// Returns a field for a message.
std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 40;
  return '"' + std::string(text.substr(0, kShown)) + (text.size() <= kShown ? "" : "...") + '"';
}

// Parses the whole string as an integer.
std::errc parse(std::string_view text, std::int64_t& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return end != text.data() + text.size() ? std::errc::invalid_argument : error;
}

// Collects the errors in cells of a file, for one message. Cells with the same fault, such as those of one column, are
// a group. The message names each cell of a small group. For a large group it names the first cell and the count.
class BadCells {
 public:
  // `line` makes "path:17:4: what". It is called only for cells that may be shown.
  template <class Line>
  void add(const std::string& group, const Line& line) {
    const auto known = groups_.find(group);
    if (known == groups_.end() && groups_.size() == kShown) {
      more_ = true;
      return;
    }
    Group& g = known == groups_.end() ? groups_[group] : known->second;
    if (g.lines.size() < kEach) g.lines.push_back({next_++, line()});
    ++g.count;
  }
  bool any() const { return !groups_.empty(); }
  std::int64_t count(const std::string& group) const {
    const auto found = groups_.find(group);
    return found == groups_.end() ? 0 : found->second.count;
  }
  bool has_many() const {
    return std::any_of(groups_.begin(), groups_.end(), [](const auto& g) { return g.second.count > kMostOfEach; });
  }
  void fail_if_any(const std::string& help = "") const {
    if (groups_.empty()) return;
    constexpr std::size_t kBytes = 3200;  // a plugin's message has at most 4096
    const std::map<int, std::string> lines = lines_to_show();
    std::string text;
    std::size_t shown = 0;
    for (const auto& [order, line] : lines) {
      if (shown == kShown || (shown != 0 && text.size() + line.size() > kBytes)) break;
      text += (shown++ == 0 ? "" : "\n") + line;
    }
    const bool more = more_ || shown < lines.size();
    std::string last = help.size() < kHelpBytes ? help : "";
    if (more) last += (last.empty() ? "" : "; ") + ("there are more; these are the first " + std::to_string(shown));
    fail(Code::kDataLoss, last.empty() ? text : text + "\n" + last);
  }

 private:
  static constexpr std::size_t kShown = 20, kEach = 3, kHelpBytes = 700;
  static constexpr std::int64_t kMostOfEach = kEach;
  struct Group {
    std::vector<std::pair<int, std::string>> lines;
    std::int64_t count = 0;
  };
  // Returns the lines in the order in which they were found.
  std::map<int, std::string> lines_to_show() const {
    std::map<int, std::string> lines;
    for (const auto& [name, g] : groups_) {
      if (g.count <= kMostOfEach)
        lines.insert(g.lines.begin(), g.lines.end());
      else
        lines.emplace(g.lines[0].first, g.lines[0].second + "; " + std::to_string(g.count) + " rows are so");
    }
    return lines;
  }

  std::map<std::string, Group> groups_;
  int next_ = 0;
  bool more_ = false;
};

class RowParser {
 public:
  RowParser(const CsvFile& file, const TableColumns& columns)
      : file_(file),
        columns_(columns),
        numbers_(columns.typed.empty() ? columns.features : std::vector<std::size_t>()) {
    if (columns.label && columns.label_type == LabelType::kFloat) numbers_.push_back(*columns.label);
    if (columns.weight) numbers_.push_back(*columns.weight);
    std::sort(numbers_.begin(), numbers_.end());
  }

  void parse_features(std::int64_t row, const std::vector<std::string_view>& fields, double* out) const {
    for (const std::size_t column : columns_.features) *out++ = number(row, fields, column);
  }

  // The same of typed columns. `ids` gets those of the categories.
  void parse_typed(std::int64_t row, const std::vector<std::string_view>& fields, double* out,
                   std::int64_t* ids) const {
    for (std::size_t i = 0; i < columns_.typed.size(); ++i) {
      const belay::Column& column = columns_.typed[i];
      const std::string_view cell = fields[columns_.features[i]];
      const char* fault = column.has_ids() ? column.id_of(cell, *ids++) : column.write(cell, out);
      if (fault != nullptr)
        fail(Code::kDataLoss,
             file_.place(row, columns_.features[i]) + ": " + wrong_typed(columns_.features[i], cell, fault));
      out += column.width();
    }
  }

  double number(std::int64_t row, const std::vector<std::string_view>& fields, std::size_t column) const {
    double value = 0;
    const std::string wrong = parse_number(fields, column, value);
    if (!wrong.empty()) fail(Code::kDataLoss, file_.place(row, column) + ": " + wrong);
    return value;
  }

  float weight(std::int64_t row, const std::vector<std::string_view>& fields) const {
    const double value = number(row, fields, *columns_.weight);
    if (value < 0)
      fail(Code::kDataLoss, file_.place(row, *columns_.weight) + ": " +
                                wrong_field(*columns_.weight, fields[*columns_.weight], "a weight below 0"));
    return static_cast<float>(value);
  }

  // Fails with all faults of the file. This is slow.
  void fail_with_all() const {
    BadCells bad;
    std::map<std::size_t, std::int64_t> rows_of_count;  // the rows with a wrong number of fields, by this number
    bool names_in_first_row = file_.rows() > 1;
    for (std::int64_t row = 0; row < file_.rows(); ++row) {
      Fields record;
      const std::vector<std::string_view>& fields = record.views;
      try {
        file_.fields(row, record);
      } catch (const belay::Error& e) {
        if (const auto count = file_.wrong_count(row)) ++rows_of_count[*count];
        bad.add("rows", [&] { return std::string(e.what()); });
        names_in_first_row = false;
        continue;
      }
      double value = 0;
      for (const std::size_t column : numbers_)
        if (const std::string wrong = parse_number(fields, column, value); !wrong.empty()) {
          bad.add(group_of(column), [&] { return file_.place(row, column) + ": " + wrong; });
          names_in_first_row = names_in_first_row && row == 0 && is_word(fields[column]);
        }
      add_typed(row, fields, bad);
    }
    if (rows_of_count.size() == 1 && rows_of_count.begin()->second == file_.rows())
      file_.fail_by_header(rows_of_count.begin()->first);
    const bool all_columns =
        columns_.typed.empty() && std::all_of(numbers_.begin(), numbers_.end(),
                                              [&](std::size_t column) { return bad.count(group_of(column)) != 0; });
    if (bad.any() && names_in_first_row && all_columns) file_.fail_by_first_row();
    bad.fail_if_any(bad.has_many() ? good_features(bad) : "");
  }

 private:
  // Returns the fault of the field; empty: there is none.
  std::string parse_number(const std::vector<std::string_view>& fields, std::size_t column, double& value) const {
    const char* fault = belay::read_number(fields[column], value);
    if (fault == nullptr) return "";
    if (fields[column].starts_with(kByteOrderMark))
      fault = "not a number, since it begins with a byte order mark, as in files that were joined";
    return wrong_field(column, fields[column], fault);
  }

  // Adds the faults of the typed columns.
  void add_typed(std::int64_t row, const std::vector<std::string_view>& fields, BadCells& bad) const {
    for (std::size_t i = 0; i < columns_.typed.size(); ++i) {
      const std::size_t at = columns_.features[i];
      const belay::Column& column = columns_.typed[i];
      std::vector<double> out(column.width());
      std::int64_t id = 0;
      const char* fault = column.has_ids() ? column.id_of(fields[at], id) : column.write(fields[at], out.data());
      if (fault != nullptr)
        bad.add(group_of(at), [&] { return file_.place(row, at) + ": " + wrong_typed(at, fields[at], fault); });
    }
  }

  std::string wrong_typed(std::size_t column, std::string_view text, const char* fault) const {
    return "column \"" + file_.columns()[column] + "\" is " + (text.empty() ? "empty" : shown(text)) + ", " + fault +
           "; repair the row, or change the column's entry in 'columns'";
  }

  std::string wrong_field(std::size_t column, std::string_view text, const char* what) const {
    const std::string is = text.empty() ? "empty, not a number" : shown(text) + ", " + what;
    const std::string fix = columns_.label == column || columns_.weight == column
                                ? "repair the row"
                                : "repair the row, or leave the column out of 'features'";
    return "column \"" + file_.columns()[column] + "\" is " + is + "; " + fix;
  }

  static bool is_word(std::string_view text) {
    double value = 0;
    return !text.empty() && belay::parse_number(text, value) == std::errc::invalid_argument;
  }
  static std::string group_of(std::size_t column) { return "column " + std::to_string(column); }

  // Returns "features = ["a", "b"] takes ...", ready to be pasted. Empty: no column is good, or a name does not fit
  // into a string.
  std::string good_features(const BadCells& bad) const {
    std::string names;
    for (const std::size_t column : columns_.features) {
      if (bad.count(group_of(column)) != 0) continue;
      const std::string& name = file_.columns()[column];
      if (name.find_first_of("\"\\\n\r") != std::string::npos) return "";
      names += (names.empty() ? "\"" : ", \"") + name + '"';
    }
    return names.empty() ? "" : "the columns that hold numbers alone: features = [" + names + "]";
  }

  const CsvFile& file_;
  const TableColumns& columns_;
  std::vector<std::size_t> numbers_;  // the columns that must hold numbers
};

// Returns the labels themselves, if they are whole numbers from 0.
std::vector<std::int64_t> numbers_of(const CsvFile& file, std::size_t column, const std::vector<std::string>& labels) {
  std::vector<std::int64_t> numbers(labels.size());
  BadCells bad;
  for (std::size_t row = 0; row < labels.size(); ++row)
    if (parse(labels[row], numbers[row]) != std::errc() || numbers[row] < 0)
      bad.add(labels[row], [&] {
        return file.place(static_cast<std::int64_t>(row), column) + ": label " + shown(labels[row]) +
               " is not a whole number from 0 like the first one; list the labels in 'classes'";
      });
  bad.fail_if_any();
  return numbers;
}

// True if the training's labels were numbers. Then "01" is the class "1".
bool are_numbers(const std::vector<std::string>& classes) {
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (classes[i] != std::to_string(i)) return false;
  return true;
}

std::vector<std::int64_t> numbers_by_list(const CsvFile& file, std::size_t column,
                                          const std::vector<std::string>& labels,
                                          const std::vector<std::string>& classes, bool learned) {
  std::map<std::string, std::int64_t> number_of;
  for (const std::string& text : classes)
    if (!number_of.emplace(text, static_cast<std::int64_t>(number_of.size())).second)
      fail(Code::kInvalidArgument, "'classes' holds " + shown(text) + " twice");
  const auto count = static_cast<std::int64_t>(classes.size());
  const bool by_number = learned && are_numbers(classes);
  std::vector<std::int64_t> numbers(labels.size());
  BadCells bad;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto found = number_of.find(labels[row]);
    std::int64_t number = 0;
    if (found != number_of.end())
      numbers[row] = found->second;
    else if (by_number && parse(labels[row], number) == std::errc() && number >= 0 && number < count)
      numbers[row] = number;
    else
      bad.add(labels[row], [&] {
        return file.place(static_cast<std::int64_t>(row), column) + ": label " + shown(labels[row]) +
               " is not one of the " + std::to_string(classes.size()) +
               (learned ? " classes that the training had" : " in 'classes'") +
               belay::did_you_mean(labels[row], classes);
      });
  }
  bad.fail_if_any();
  return numbers;
}

std::vector<std::int64_t> numbers_by_appearance(const std::vector<std::string>& labels,
                                                std::vector<std::string>& names) {
  std::map<std::string, std::int64_t> number_of;
  std::vector<std::int64_t> numbers;
  numbers.reserve(labels.size());
  for (const std::string& label : labels) {
    const auto [found, added] = number_of.emplace(label, static_cast<std::int64_t>(number_of.size()));
    if (added) names.push_back(label);
    numbers.push_back(found->second);
  }
  return numbers;
}

std::vector<std::string> names_of_numbers(const std::vector<std::int64_t>& numbers) {
  const std::int64_t classes = *std::max_element(numbers.begin(), numbers.end()) + 1;
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < classes && classes <= kMostNumberedClasses; ++i) names.push_back(std::to_string(i));
  return names;
}

// Each of these labels would be a separate class.
void refuse_byte_order_marks(const CsvFile& file, std::size_t column, const std::vector<std::string>& labels) {
  BadCells bad;
  for (std::size_t row = 0; row < labels.size(); ++row)
    if (labels[row].find(kByteOrderMark) != std::string::npos)
      bad.add("marks", [&] {
        return file.place(static_cast<std::int64_t>(row), column) +
               ": the label has a byte order mark in it, as files have that were joined; remove the mark";
      });
  bad.fail_if_any();
}

void refuse_empty(const CsvFile& file, std::size_t column, const std::vector<std::string>& labels) {
  BadCells bad;
  for (std::size_t row = 0; row < labels.size(); ++row)
    if (labels[row].empty())
      bad.add("empty", [&] {
        return file.place(static_cast<std::int64_t>(row), column) +
               ": the label is empty; repair the row, or list \"\" in 'classes' if it is a class";
      });
  bad.fail_if_any();
}

void number_classes(const CsvFile& file, const TableColumns& columns, const std::vector<std::string>& labels,
                    Table& table) {
  const std::size_t column = *columns.label;
  refuse_byte_order_marks(file, column, labels);
  if (!columns.classes.empty()) {
    table.class_names = columns.classes;
    table.classes = numbers_by_list(file, column, labels, columns.classes, columns.learned);
    return;
  }
  refuse_empty(file, column, labels);
  std::int64_t first = 0;
  if (parse(labels[0], first) == std::errc() && first >= 0) {
    table.classes = numbers_of(file, column, labels);
    table.class_names = names_of_numbers(table.classes);
  } else {
    table.classes = numbers_by_appearance(labels, table.class_names);
  }
}

}  // namespace

namespace {

// Returns a table with room for all rows.
Table sized_table(std::size_t rows, const TableColumns& columns) {
  Table table;
  for (const belay::Column& column : columns.typed)
    table.width += column.width(), table.categories += column.has_ids() ? 1 : 0;
  if (columns.typed.empty()) table.width = columns.features.size();
  table.features.resize(rows * table.width);
  table.targets.resize(columns.label && columns.label_type == LabelType::kFloat ? rows : 0);
  table.ids.resize(columns.id ? rows : 0);
  table.weights.resize(columns.weight ? rows : 0);
  table.category_ids.resize(rows * table.categories);
  return table;
}

}  // namespace

Table parse_table(const CsvFile& file, const TableColumns& columns, belay::DecodePool& pool, bool all_faults) {
  const auto rows = static_cast<std::size_t>(file.rows());
  const bool has_class = columns.label && columns.label_type == LabelType::kClass;
  Table table = sized_table(rows, columns);
  std::vector<std::string> labels(has_class ? rows : 0);
  const RowParser parser(file, columns);
  const auto parse_row = [&](std::int64_t row) {
    const auto r = static_cast<std::size_t>(row);
    thread_local Fields record;
    file.fields(row, record);
    const std::vector<std::string_view>& fields = record.views;
    double* out = table.features.data() + r * table.width;
    if (columns.typed.empty())
      parser.parse_features(row, fields, out);
    else
      parser.parse_typed(row, fields, out, table.category_ids.data() + r * table.categories);
    if (!table.targets.empty()) table.targets[r] = static_cast<float>(parser.number(row, fields, *columns.label));
    if (columns.weight) table.weights[r] = parser.weight(row, fields);
    if (has_class) labels[r] = fields[*columns.label];
    if (columns.id) table.ids[r] = fields[*columns.id];
  };
  try {
    pool.for_each_row(file.rows(), parse_row);
  } catch (const belay::Error& e) {
    if (e.code() == Code::kDataLoss && all_faults) parser.fail_with_all();
    throw;
  }
  if (has_class) number_classes(file, columns, labels, table);
  return table;
}

Scales measure(const Table& table, const std::vector<std::int64_t>& rows) {
  const auto n = static_cast<double>(rows.size());
  Scales scales;
  for (std::size_t column = 0; column < table.width; ++column) {
    const auto value = [&](std::int64_t row) {
      return table.features[static_cast<std::size_t>(row) * table.width + column];
    };
    double sum = 0, squares = 0;
    for (const std::int64_t row : rows) sum += value(row);
    const double mean = sum / n;
    for (const std::int64_t row : rows) squares += (value(row) - mean) * (value(row) - mean);
    scales.means.push_back(mean);
    scales.deviations.push_back(squares > 0 ? std::sqrt(squares / n) : 1);
  }
  return scales;
}

void standardize(Table& table, const Scales& scales) {
  for (std::size_t column = 0; column < table.width; ++column)
    for (std::size_t at = column; at < table.features.size(); at += table.width)
      table.features[at] = (table.features[at] - scales.means[column]) / scales.deviations[column];
}

}  // namespace csv_input
