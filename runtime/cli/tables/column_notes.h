// SPDX-License-Identifier: Apache-2.0
// Collects one column of a table, cell by cell.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/cli/tables/table_profile.h"

namespace belay::runtime {

class ColumnNotes {
 public:
  ColumnNotes(std::string name, const Gaps& gaps) : name_(std::move(name)), gaps_(gaps), guess_(gaps) {}

  // `label` is the row's label, or empty.
  void add(std::string_view cell, std::string_view label, const csv::Block& block, std::size_t row, std::size_t column);
  // `label` is the label's name; empty: there is none.
  ColumnProfile finish(const std::string& label) const;

 private:
  static constexpr std::size_t kCounted = 100'000;  // most cells that are counted each
  // Cells of one kind: their number, and the first one with its place.
  struct Cells {
    std::int64_t rows = 0;
    std::string first, place;
    void add(std::string_view cell, const csv::Block& block, std::size_t row, std::size_t column) {
      if (rows++ == 0) first = cell, place = block.place(row, column);
    }
  };
  using Counts = std::vector<std::pair<std::string, std::int64_t>>;
  void add_number(double value, std::string_view cell);
  void add_word(std::string_view cell, const csv::Block& block, std::size_t row, std::size_t column);
  void count(std::string_view cell, std::string_view label, bool is_number);
  std::size_t different() const { return number_counts_.size() + word_counts_.size(); }
  bool is_full() const { return number_counts_.size() == kCounted || word_counts_.size() == kCounted; }
  Counts by_frequency() const;
  std::string values(const ColumnProfile& column) const;
  void note_values(ColumnProfile& column) const;
  void note_words(ColumnProfile& column) const;
  void note_dates(ColumnProfile& column) const;
  void note_misread(ColumnProfile& column) const;
  void note_leading_zeros(ColumnProfile& column, bool is_label) const;
  void note_unused(ColumnProfile& column) const;
  void note_characters(ColumnProfile& column) const;
  void note_spellings(ColumnProfile& column) const;
  void note_label(ColumnProfile& column, const std::string& label) const;

  std::string name_;
  const Gaps& gaps_;
  ColumnGuess guess_;
  std::int64_t rows_ = 0, numbers_ = 0, iso_dates_ = 0, compact_dates_ = 0;
  double least_ = std::numeric_limits<double>::infinity(), largest_ = -least_, last_ = -least_;
  bool whole_ = true, ascends_ = true;
  Cells missing_, values_, words_, not_utf8_, leading_zeros_;  // the first are gaps, the second all others
  MisreadCells misread_;
  Moment first_date_{std::numeric_limits<std::int32_t>::max()}, last_date_{0};
  // The rows of each cell. A column of many numbers leaves room for its words.
  std::map<std::string, std::int64_t, std::less<>> number_counts_, word_counts_;
  std::map<std::size_t, std::int64_t> formats_;             // cells that are dates in each of other_dates()
  std::map<std::string, std::string, std::less<>> labels_;  // the label of each cell
  std::int64_t equal_ = 0;                                  // rows whose cell is the label
  bool decides_ = true;                                     // equal cells have equal labels
};

}  // namespace belay::runtime
