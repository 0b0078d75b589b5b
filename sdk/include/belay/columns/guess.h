// SPDX-License-Identifier: Apache-2.0
// Guesses the type of a column from its cells, and finds numbers and dates that are words, and codes that are numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/columns/cells.h"
#include "belay/columns/column.h"

namespace belay {
inline namespace v0 {

// Dates that people write, and that are words without a format in `formats`.
inline constexpr const char* kOtherDates[] = {"%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y"};

// True for "3,5", "-1.234,50" and "1,000": a number for other programs, and a word here.
inline bool is_number_with_comma(std::string_view cell) {
  if (!cell.empty() && (cell[0] == '-' || cell[0] == '+')) cell.remove_prefix(1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return cell.size() >= 3 && cell.find(',') != cell.npos && is_digit(cell.front()) && is_digit(cell.back()) &&
         cell.find_first_not_of("0123456789.,") == cell.npos;
}

// True for "$5.20", "1.000 €" and "12 %".
inline bool is_number_with_sign(std::string_view cell) {
  for (const std::string_view sign : {"$", "€", "£", "¥", "%"}) {
    std::string_view rest = cell;
    if (rest.substr(0, sign.size()) == sign)
      rest.remove_prefix(sign.size());
    else if (rest.size() > sign.size() && rest.substr(rest.size() - sign.size()) == sign)
      rest.remove_suffix(sign.size());
    else
      continue;
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    while (!rest.empty() && rest.back() == ' ') rest.remove_suffix(1);
    double number = 0;
    return is_number_with_comma(rest) || read_number(rest, number) == nullptr;
  }
  return false;
}

// True for "01234" and "007": digits that a number does not keep, as zip codes and article numbers have. "01" to "12"
// are months or hours.
inline bool has_leading_zero(std::string_view cell) {
  return cell.size() >= 3 && cell[0] == '0' && cell.find_first_not_of("0123456789") == cell.npos;
}

// Returns the first of the names of columns that are numbers, if these seem to be the values of a row: at least half of
// the names are numbers, and they do not count up by one as years do. Empty: they are names.
inline std::string name_like_value(const std::vector<std::string>& names) {
  std::vector<double> numbers;
  std::string first;
  for (const std::string& name : names)
    if (double number = 0; read_number(name, number) == nullptr) {
      if (numbers.empty()) first = name;
      numbers.push_back(number);
    }
  bool counts = true;
  for (std::size_t i = 1; i < numbers.size(); ++i) counts = counts && numbers[i] == numbers[i - 1] + 1;
  return numbers.size() < 2 || 2 * numbers.size() < names.size() || counts ? "" : first;
}

// Counts the cells of a column that are numbers or dates for people, and words here.
class MisreadCells {
 public:
  // `place` returns the place of the cell, such as "x.csv:2:1". It is called for the first cell of a kind alone.
  template <class Place>
  void add(std::string_view cell, const Place& place) {
    const bool comma = is_number_with_comma(cell);
    if (comma || is_number_with_sign(cell)) {
      if (numbers_.rows == 0) comma_ = comma;
      return numbers_.add(cell, place);
    }
    for (std::size_t i = 0; i < std::size(kOtherDates); ++i)
      if (Moment moment; parse_date({kOtherDates[i]}, cell, moment)) dates_[i].add(cell, place);
  }
  // Return what is wrong, with place and fix, for a column with so many cells that are no gap. Empty: fewer than half
  // of them are such numbers, or dates of one format.
  std::string numbers_text(std::int64_t cells) const {
    if (!numbers_.are_many(cells)) return "";
    return "its cells are numbers with a " + std::string(comma_ ? "comma" : "sign") + ", such as " + numbers_.text() +
           ", and are words here; write " +
           (comma_ ? "a decimal point, and nothing between thousands" : "digits and a decimal point alone");
  }
  std::string dates_text(std::int64_t cells) const {
    const auto most = std::max_element(std::begin(dates_), std::end(dates_),
                                       [](const Cells& a, const Cells& b) { return a.rows < b.rows; });
    if (!most->are_many(cells)) return "";
    return "its cells are dates, such as " + most->text() + ", and are words here; type = \"date\" with formats = [\"" +
           kOtherDates[most - std::begin(dates_)] + "\"] reads them";
  }

 private:
  struct Cells {
    std::int64_t rows = 0;
    std::string first, place;

    template <class Place>
    void add(std::string_view cell, const Place& place_of) {
      if (rows++ == 0) first = cell, place = place_of();
    }
    bool are_many(std::int64_t cells) const { return rows != 0 && 2 * rows >= cells; }
    std::string text() const { return "\"" + first + "\" (" + place + ")"; }
  };
  Cells numbers_, dates_[std::size(kOtherDates)];
  bool comma_ = false;  // the first of numbers_ has one
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
