// SPDX-License-Identifier: Apache-2.0
// Guesses the type of a column from its cells, and finds numbers that are written with a comma.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "belay/columns/cells.h"
#include "belay/columns/column.h"

namespace belay {
inline namespace v0 {

// True for "3,5", "-1.234,50" and "1,000": a number for other programs, and a word here.
inline bool is_number_with_comma(std::string_view cell) {
  if (!cell.empty() && (cell[0] == '-' || cell[0] == '+')) cell.remove_prefix(1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return cell.size() >= 3 && cell.find(',') != cell.npos && is_digit(cell.front()) && is_digit(cell.back()) &&
         cell.find_first_not_of("0123456789.,") == cell.npos;
}

// Counts the numbers with a comma among the cells of a column.
class NumbersWithComma {
 public:
  // `place` returns the place of the cell, such as "x.csv:2:1". It is called for the first number alone.
  template <class Place>
  void add(std::string_view cell, const Place& place) {
    if (is_number_with_comma(cell) && rows_++ == 0) first_ = cell, place_ = place();
  }
  // Returns what is wrong, with place and fix, for a column with so many cells that are no gap. Empty: most of them are
  // no such numbers.
  std::string text(std::int64_t cells) const {
    if (rows_ == 0 || 2 * rows_ < cells) return "";
    return "its cells are numbers with a comma, such as \"" + first_ + "\" (" + place_ +
           "), and are words here; write a decimal point, and nothing between thousands";
  }

 private:
  std::int64_t rows_ = 0;
  std::string first_, place_;
};

// Guesses the type of a column from the training's cells. A column is of numbers or dates if at least half of its cells
// are; the others are errors then. Other columns are categories. Two kinds are not: a cell that is different in almost
// all rows is text if it has three words, or else something like an id, which is ignored.
class ColumnGuess {
 public:
  explicit ColumnGuess(Gaps gaps) : gaps_(std::move(gaps)) {}

  void add(std::string_view cell) {
    ++rows_;
    double number = 0;
    Moment moment;
    if (is_gap(gaps_, cell)) {
      ++gap_count_;
    } else if (read_number(cell, number) == nullptr) {
      ++numbers_;
    } else if (parse_date({}, cell, moment)) {
      ++dates_;
    } else {
      detail::each_word(cell, [&](const std::string&) { ++words_; });
      if (different_.size() < kCounted) different_.insert(std::string(cell));
      ++others_;
    }
  }

  std::string type() const {
    const std::int64_t cells = rows_ - gap_count_;
    if (cells == 0) return "ignore";
    if (2 * numbers_ >= cells) return "number";
    if (2 * dates_ >= cells) return "date";
    const bool many = others_ >= kFewRows && 2 * static_cast<std::int64_t>(different_.size()) > others_;
    return !many ? "category" : words_ >= 3 * others_ ? "text" : "ignore";
  }

  // Returns "category, 12 different words in 100 rows, 3 gaps" for the log.
  std::string text() const {
    const std::string type = this->type();
    std::string text = type;
    if (!different_.empty() && (type == "category" || type == "ignore" || type == "text"))
      text += ", " + std::to_string(different_.size()) + (different_.size() == kCounted ? " or more" : "") +
              " different cells of words in " + std::to_string(rows_) + " rows";
    return text + (gap_count_ == 0 ? "" : ", " + std::to_string(gap_count_) + (gap_count_ == 1 ? " gap" : " gaps"));
  }

 private:
  static constexpr std::size_t kCounted = 100'000;
  static constexpr std::int64_t kFewRows = 20;
  Gaps gaps_;
  std::int64_t rows_ = 0, gap_count_ = 0, numbers_ = 0, dates_ = 0, others_ = 0, words_ = 0;
  std::set<std::string, std::less<>> different_;
};

}  // namespace v0
}  // namespace belay
