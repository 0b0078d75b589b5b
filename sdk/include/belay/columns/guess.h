// SPDX-License-Identifier: Apache-2.0
// Guesses the type of a column from its cells, and finds numbers and dates that are words, and codes that are numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/columns/cells.h"
#include "belay/columns/column.h"

namespace belay {
inline namespace v0 {

// Dates that people write, and that are words without a format in `formats`: a day, alone or with a time.
inline const std::vector<std::string>& other_dates() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> formats;
    for (const char* time : {"", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", " %I:%M%p", " %I:%M:%S%p"})
      for (const char* day : {"%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y", "%d.%m.%y", "%m/%d/%y",
                              "%d/%m/%y", "%d-%m-%y", "%d-%b-%Y", "%d %b %Y", "%b %d, %Y", "%b %d %Y", "%d-%b-%y"})
        formats.push_back(std::string(day) + time);
    return formats;
  }();
  return all;
}

// Calls f(i) for each of other_dates() that the cell has. "1.2.10" is more often a version than a day of 2010.
template <class F>
void each_other_date(std::string_view cell, const F& f) {
  constexpr std::size_t kShortest = 6, kLongest = 30;
  if (cell.size() < kShortest || cell.size() > kLongest) return;
  std::string_view rest = cell;
  std::int64_t month = 0;
  const bool begins_with_month = detail::take_month(rest, month);
  if (!begins_with_month && (cell[0] < '0' || cell[0] > '9')) return;
  const bool may_be_short = cell.find('/') != cell.npos || (cell.size() >= kShortest + 2 && cell[2] == cell[5]);
  const std::vector<std::string>& formats = other_dates();
  for (std::size_t i = 0; i < formats.size(); ++i) {
    if ((formats[i][1] == 'b') != begins_with_month) continue;
    if (!may_be_short && formats[i].find("%m.%y") != std::string::npos) continue;
    if (!may_be_short && formats[i].find("%m-%y") != std::string::npos) continue;
    if (Moment moment; detail::parse_format(formats[i], cell, moment)) f(i);
  }
}

namespace detail {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes one of the words from the front of `text`.
inline bool take_one(std::string_view& text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    if (text.substr(0, word.size()) == word) {
      text.remove_prefix(word.size());
      return true;
    }
  return false;
}

// True for "14 675" and "1'234.5" with these marks: each is before three digits.
inline bool has_marks(std::string_view text, std::initializer_list<std::string_view> marks) {
  std::int64_t group = 0;
  std::size_t found = 0;
  if (text.empty() || text[0] == '0' || !take_digits(text, 1, 3, group)) return false;
  for (; take_one(text, marks); ++found)
    if (!take_digits(text, 3, 3, group)) return false;
  if (!text.empty() && (text[0] == '.' || text[0] == ',')) text.remove_prefix(1);
  return found != 0 && text.find_first_not_of("0123456789") == text.npos;
}

inline bool has_comma(std::string_view text) {
  return text.size() >= 3 && text.find(',') != text.npos && is_digit(text.front()) && is_digit(text.back()) &&
         text.find_first_not_of("0123456789.,") == text.npos;
}

}  // namespace detail

// Returns what keeps a cell from being a number here, though it is one for people: "a comma" in "3,5" and "1,000", "a
// blank" in "14 675", "an apostrophe" in "14'675", "a sign" in "$5.20" and "12 %", "parentheses" in "(5.20)". Null:
// nothing.
inline const char* mark_in_number(std::string_view cell) {
  if (!cell.empty() && (cell[0] == '-' || cell[0] == '+')) cell.remove_prefix(1);
  if (cell.empty()) return nullptr;
  double number = 0;
  const auto is_number = [&](std::string_view text) {
    return mark_in_number(text) != nullptr ||
           (read_number(text, number) == nullptr && text.find_first_of("0123456789") != text.npos);
  };
  if (detail::has_comma(cell)) return "a comma";
  if (detail::has_marks(cell, {" ", "\xC2\xA0", "\xE2\x80\xAF"})) return "a blank";
  if (detail::has_marks(cell, {"'", "\xE2\x80\x99"})) return "an apostrophe";
  if (cell.size() > 2 && cell.front() == '(' && cell.back() == ')' && cell[1] != '(')
    return is_number(cell.substr(1, cell.size() - 2)) ? "parentheses" : nullptr;
  for (const std::string_view sign : {"$", "€", "£", "¥", "%"}) {
    std::string_view rest = cell;
    if (rest.size() > sign.size() && rest.substr(rest.size() - sign.size()) == sign)
      rest.remove_suffix(sign.size());
    else if (!detail::take_one(rest, {sign}))
      continue;
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    while (!rest.empty() && rest.back() == ' ') rest.remove_suffix(1);
    return !rest.empty() && is_number(rest) ? "a sign" : nullptr;
  }
  return nullptr;
}

// True for "01234" and "007": digits that a number does not keep, as zip codes and article numbers have. "01" to "12"
// are months or hours.
inline bool has_leading_zero(std::string_view cell) {
  return cell.size() >= 3 && cell[0] == '0' && cell.find_first_not_of("0123456789") == cell.npos;
}

// Returns the first of the names of columns that are numbers, if these seem to be the values of a row. They do if they
// are at least half of the names and do not count up by one as years do, or if three or more neither ascend nor
// descend. Empty: they are names.
inline std::string name_like_value(const std::vector<std::string>& names) {
  std::vector<double> numbers;
  std::string first;
  for (const std::string& name : names)
    if (double number = 0; read_number(name, number) == nullptr) {
      if (numbers.empty()) first = name;
      numbers.push_back(number);
    }
  bool counts = true, ascends = true, descends = true;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    counts = counts && numbers[i] == numbers[i - 1] + 1;
    ascends = ascends && numbers[i] > numbers[i - 1], descends = descends && numbers[i] < numbers[i - 1];
  }
  const bool are_most = numbers.size() >= 2 && 2 * numbers.size() >= names.size();
  return (are_most && !counts) || (numbers.size() >= 3 && !ascends && !descends) ? first : "";
}

// Counts the cells of a column that are numbers or dates for people, and words here.
class MisreadCells {
 public:
  // `place` returns the place of the cell, such as "x.csv:2:1". It is called for the first cell of a kind alone.
  template <class Place>
  void add(std::string_view cell, const Place& place) {
    if (const char* mark = mark_in_number(cell)) {
      if (numbers_.rows == 0) mark_ = mark;
      return numbers_.add(cell, place);
    }
    each_other_date(cell, [&](std::size_t i) {
      dates_.resize(other_dates().size());
      dates_[i].add(cell, place);
    });
  }
  // Return what is wrong, with place and fix, for a column with so many cells that are no gap. Empty: fewer than half
  // of them are such numbers, or dates of one format.
  std::string numbers_text(std::int64_t cells) const {
    if (!numbers_.are_many(cells)) return "";
    return "its cells are numbers with " + std::string(mark_) + ", such as " + numbers_.text() +
           ", and are words here; write " + how_to_write();
  }
  std::string dates_text(std::int64_t cells) const {
    const auto most =
        std::max_element(dates_.begin(), dates_.end(), [](const Cells& a, const Cells& b) { return a.rows < b.rows; });
    if (most == dates_.end() || !most->are_many(cells)) return "";
    const std::string& format = other_dates()[static_cast<std::size_t>(most - dates_.begin())];
    std::string text = "its cells are dates, such as " + most->text() +
                       ", and are words here; type = \"date\" with formats = [\"" + format + "\"] reads them";
    for (std::size_t i = 0; i < dates_.size(); ++i)
      if (&dates_[i] != &*most && dates_[i].rows == most->rows)
        text += ", and so does \"" + other_dates()[i] + "\", as another day";
    return text;
  }
  // Returns what is wrong if any of the cells is such a number, for a column of numbers. Empty: none is.
  std::string some_numbers_text() const {
    if (numbers_.rows == 0) return "";
    return std::to_string(numbers_.rows) + (numbers_.rows == 1 ? " row has a number" : " rows have numbers") +
           " with " + mark_ + ", such as " + numbers_.text() + "; write " + how_to_write();
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
  const char* how_to_write() const {
    const std::string_view mark = mark_;
    return mark == "a sign" || mark == "parentheses" ? "digits and a decimal point alone"
                                                     : "a decimal point, and nothing between thousands";
  }
  Cells numbers_;
  std::vector<Cells> dates_;  // of other_dates(); empty: no cell is one
  const char* mark_ = "";     // of the first of numbers_
};

// Guesses the type of a column from the training's cells. A column is of numbers or dates if at least half of its cells
// are; the others are errors then. Other columns are categories. Two kinds are not: a cell that is different in almost
// all rows is text if it has three words with letters, or else something like an id, which is ignored.
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
      detail::each_word(cell, [&](const std::string& word) { words_ += has_letter(word) ? 1 : 0; });
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
  // A date such as "09/13/2021 03:15" has words of digits.
  static bool has_letter(std::string_view word) { return word.find_first_not_of("0123456789") != word.npos; }

  static constexpr std::size_t kCounted = 100'000;
  static constexpr std::int64_t kFewRows = 20;
  Gaps gaps_;
  std::int64_t rows_ = 0, gap_count_ = 0, numbers_ = 0, dates_ = 0, others_ = 0, words_ = 0;
  std::set<std::string, std::less<>> different_;
};

}  // namespace v0
}  // namespace belay
