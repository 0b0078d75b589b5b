// SPDX-License-Identifier: Apache-2.0
// Guesses the type of a column from its cells.
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
