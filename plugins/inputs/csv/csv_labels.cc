// SPDX-License-Identifier: Apache-2.0
#include "csv_labels.h"

#include <belay/error.h>
#include <belay/nearest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "bad_cells.h"

namespace csv_input {
namespace {

// Parses the whole string as an integer. pandas writes 1.0 for 1 in a column that had a gap.
std::errc parse(std::string_view text, std::int64_t& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const std::size_t point = text.find('.');
  if (point != text.npos && point != 0 && text.find_first_not_of('0', point + 1) == text.npos)
    text = text.substr(0, point);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return end != text.data() + text.size() ? std::errc::invalid_argument : error;
}

// True if the training's labels were numbers. Then "01" is the class "1".
bool are_numbers(const std::vector<std::string>& classes) {
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (classes[i] != std::to_string(i)) return false;
  return true;
}

bool is_missing(const LabelNames& names, std::string_view label) {
  return label.empty() || belay::is_gap(names.gaps, label);
}

}  // namespace

Labels::Labels(const LabelNames& names) : names_(names) {
  for (const std::string& text : names.classes)
    if (!numbers_.emplace(text, static_cast<std::int64_t>(numbers_.size())).second)
      belay::fail(belay::Code::kInvalidArgument, "[B3020] 'classes' holds " + shown(text) + " twice");
  by_number_ = names.learned && are_numbers(names.classes);
}

std::optional<std::int64_t> Labels::find(std::string_view label) {
  std::int64_t number = 0;
  const auto found = numbers_.find(label);
  if (found != numbers_.end()) return found->second;
  if (!names_.classes.empty()) {
    const auto count = static_cast<std::int64_t>(names_.classes.size());
    if (by_number_ && parse(label, number) == std::errc() && number >= 0 && number < count) return number;
    return std::nullopt;
  }
  if (is_missing(names_, label) || label.find(belay::csv::kByteOrderMark) != label.npos) return std::nullopt;
  if (rows_ == 0) by_number_ = parse(label, number) == std::errc() && number >= 0;
  if (by_number_) return parse(label, number) == std::errc() && number >= 0 ? std::optional(number) : std::nullopt;
  number = static_cast<std::int64_t>(numbers_.size());
  numbers_.emplace(label, number);
  appeared_.emplace_back(label);
  return number;
}

std::optional<std::int64_t> Labels::number(std::string_view label) {
  const std::optional<std::int64_t> number = find(label);
  if (!number) return std::nullopt;
  largest_ = std::max(largest_, *number);
  if (by_number_ && coded_.empty() && label.size() > 1 && label[0] == '0' && label[1] != '.') coded_ = label;
  if (*number < kMostNumberedClasses) {
    if (static_cast<std::size_t>(*number) >= counts_.size()) counts_.resize(static_cast<std::size_t>(*number) + 1);
    Count& count = counts_[static_cast<std::size_t>(*number)];
    ++count.rows, count.last = rows_;
  }
  ++rows_;
  return number;
}

std::vector<std::string> Labels::class_names() const {
  if (!names_.classes.empty()) return names_.classes;
  if (!by_number_) return appeared_;
  std::vector<std::string> names;
  for (std::int64_t i = 0; i <= largest_ && largest_ < kMostNumberedClasses; ++i) names.push_back(std::to_string(i));
  return names;
}

NumberedLabels Labels::numbered() const {
  NumberedLabels numbered;
  if (!by_number_) return numbered;
  numbered.coded = coded_;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if (counts_[i].rows != 0) numbered.found.push_back(static_cast<std::int64_t>(i));
  return numbered;
}

std::vector<std::pair<std::int64_t, std::int64_t>> Labels::lone() const {
  constexpr std::int64_t kRowsOfAClass = 10;
  std::vector<std::pair<std::int64_t, std::int64_t>> lone;
  if (largest_ < 1 || largest_ >= kMostNumberedClasses || rows_ < kRowsOfAClass * (largest_ + 1)) return lone;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    if (counts_[i].rows == 1) lone.emplace_back(static_cast<std::int64_t>(i), counts_[i].last);
  return lone;
}

namespace {

// Calls f(label, place), and place returns the text of its place.
template <class F>
void each_label(const CsvFile& file, std::size_t column, const F& f) {
  belay::csv::Fields cells;
  file.each_block([&](const belay::csv::Block& block) {
    for (std::size_t i = 0; i < block.rows(); ++i) {
      block.fields(i, cells);
      f(cells.views[column], [&] { return block.place(i, column); });
    }
    return true;
  });
}

// Each of these labels would be a separate class.
void refuse_byte_order_marks(const CsvFile& file, std::size_t column) {
  BadCells bad;
  each_label(file, column, [&](std::string_view label, const auto& place) {
    if (label.find(belay::csv::kByteOrderMark) != label.npos)
      bad.add("marks", [&] {
        return BadCell{"B3039", place(),
                       "the label has a byte order mark in it, as files have that were joined; remove the mark"};
      });
  });
  bad.fail_if_any();
}

void refuse_missing(const CsvFile& file, std::size_t column, const LabelNames& names) {
  BadCells bad;
  each_label(file, column, [&](std::string_view label, const auto& place) {
    if (!is_missing(names, label) || std::count(names.classes.begin(), names.classes.end(), label) != 0) return;
    bad.add(std::string(label), [&] {
      const std::string is = label.empty() ? "empty" : shown(label) + ", which means a missing value";
      const std::string other = names.learned ? "" : ", or list " + shown(label) + " in 'classes' if it is a class";
      return BadCell{"B3039", place(), "the label is " + is + "; repair or remove the row" + other};
    });
  });
  bad.fail_if_any();
}

}  // namespace

void fail_by_labels(const CsvFile& file, std::size_t column, const LabelNames& names) {
  refuse_byte_order_marks(file, column);
  refuse_missing(file, column, names);
  const bool listed = !names.classes.empty();
  Labels labels(names);
  BadCells bad;
  each_label(file, column, [&](std::string_view label, const auto& place) {
    if (labels.number(label)) return;
    bad.add(std::string(label), [&] {
      BadCell cell{"B3039", place(), "label " + shown(label)};
      if (!listed)
        cell.what += " is not a whole number from 0 like the first one; list the labels in 'classes'";
      else
        cell.what += " is not one of the " + std::to_string(names.classes.size()) +
                     (names.learned ? " classes that the training had" : " in 'classes'") +
                     belay::did_you_mean(label, names.classes) + "; repair the row" +
                     (names.learned ? "" : ", or list the label there");
      return cell;
    });
  });
  bad.fail_if_any();
}

namespace {

// True for "0.5", and not for "1" and "1.0".
bool has_decimals(std::string_view label) {
  double value = 0;
  return belay::read_number(label, value) == nullptr && value != std::floor(value);
}

bool is_misread(std::string_view label) { return belay::mark_in_number(label) != nullptr; }

std::string place_of(const CsvFile& file, std::size_t column, const std::string& wanted) {
  std::string found;
  each_label(file, column, [&](std::string_view label, const auto& place) {
    if (found.empty() && label == wanted) found = place();
  });
  return found;
}

// Each number up to the largest is a class. Names those without a row.
std::string classes_without_rows(const NumberedLabels& numbered) {
  constexpr std::size_t kShown = 10;
  const std::vector<std::int64_t>& found = numbered.found;
  std::int64_t first = 0;
  while (static_cast<std::size_t>(first) < found.size() && found[static_cast<std::size_t>(first)] == first) ++first;
  if (static_cast<std::size_t>(first) == found.size()) return "";
  std::string list;
  for (const std::int64_t number : found) list += (list.empty() ? "\"" : ", \"") + std::to_string(number) + '"';
  return "it has " + std::to_string(found.back() + 1) + " classes, since it holds whole numbers up to " +
         std::to_string(found.back()) + ", and no row has " + std::to_string(first) + "; " +
         (found.size() <= kShown ? "classes = [" + list + "] has those that occur"
                                 : "'classes' lists those that occur");
}

}  // namespace

std::string numbers_as_classes(const CsvFile& file, std::size_t column, const std::vector<std::int64_t>& classes,
                               const std::vector<std::string>& class_names, const NumberedLabels& numbered) {
  constexpr std::size_t kFew = 3;
  if (!numbered.coded.empty())
    return "its labels are the numbers of their classes, and lose the leading zeros that " + shown(numbered.coded) +
           " (" + place_of(file, column, numbered.coded) + ") has; list the labels in 'classes' to keep them";
  if (std::any_of(class_names.begin(), class_names.end(), is_misread)) {
    belay::MisreadCells misread;
    each_label(file, column, [&](std::string_view label, const auto& place) { misread.add(label, place); });
    return misread.numbers_text(file.rows());
  }
  std::map<double, std::string> spelt;
  for (const std::string& name : class_names) {
    double number = 0;
    if (belay::read_number(name, number) != nullptr) continue;
    const auto [first, is_new] = spelt.emplace(number, name);
    if (!is_new)
      return "its classes " + shown(first->second) + " and " + shown(name) + " (" + place_of(file, column, name) +
             ") are one number; write it in one way";
  }
  const auto decimals = std::count_if(class_names.begin(), class_names.end(), has_decimals);
  const std::string fix =
      "; label_type = \"float\" predicts the number, and 'classes' lists the labels that are classes";
  if (class_names.size() >= kFew && 2 * static_cast<std::size_t>(decimals) >= class_names.size()) {
    const std::string& first = *std::find_if(class_names.begin(), class_names.end(), has_decimals);
    return "it has " + std::to_string(class_names.size()) + " classes that are numbers, such as " + shown(first) +
           " (" + place_of(file, column, first) + ")" + fix;
  }
  // Labels that are the numbers of their classes need a class for each number up to the largest.
  constexpr std::int64_t kMany = 10;
  const std::int64_t largest = *std::max_element(classes.begin(), classes.end());
  const auto different = static_cast<std::int64_t>(std::set<std::int64_t>(classes.begin(), classes.end()).size());
  if (largest < kMany || largest < 2 * different + kMany) return classes_without_rows(numbered);
  const std::string place = place_of(file, column, std::to_string(largest));
  return "its numbers are those of " + std::to_string(largest + 1) + " classes, and " + std::to_string(different) +
         " of them occur, such as " + std::to_string(largest) + (place.empty() ? "" : " (" + place + ")") + fix;
}

}  // namespace csv_input
