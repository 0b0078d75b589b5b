// SPDX-License-Identifier: Apache-2.0
#include "csv_columns.h"

#include <belay/error.h>
#include <belay/nearest.h>

#include <algorithm>
#include <cstddef>

namespace csv_input {
namespace {

constexpr std::int64_t kMostWords = 256;  // of a category that has no entry
constexpr std::size_t kMostSaid = 2000;   // bytes of a line of the log
constexpr std::size_t kPasses = 4;        // over the file, to fit all columns

// The cells of one column.
struct Cells {
  Cells(const belay::ColumnOptions& column, const belay::Gaps& all_gaps)
      : guesses(column.type.empty()),
        may_misread(guesses || column.type == "category"),
        gaps(column.gaps.empty() ? all_gaps : column.gaps),
        guess(gaps) {}

  void add(std::string_view cell, const belay::csv::Block& block, std::size_t row, std::size_t column) {
    if (guesses) guess.add(cell);
    if (!may_misread || belay::is_gap(gaps, cell)) return;
    ++filled;
    misread.add(cell, [&] { return block.place(row, column); });
  }

  // A category that the manifest asks for may hold dates.
  std::string what_is_misread() const {
    const std::string numbers = misread.numbers_text(filled);
    return numbers.empty() && guesses ? misread.dates_text(filled) : numbers;
  }

  bool guesses, may_misread;
  belay::Gaps gaps;
  belay::ColumnGuess guess;
  belay::MisreadCells misread;
  std::int64_t filled = 0;  // cells that are no gap
};

}  // namespace

GuessedTypes guess_types(const CsvFile& file, const std::vector<std::size_t>& features,
                         const std::vector<std::int64_t>& rows, const belay::Gaps& gaps,
                         std::vector<belay::ColumnOptions>& columns) {
  std::vector<Cells> cells;
  for (const belay::ColumnOptions& column : columns) cells.emplace_back(column, gaps);
  try {
    file.each_row(rows, [&](const belay::csv::Block& block, std::size_t number, const belay::csv::Fields& row) {
      for (std::size_t i = 0; i < features.size(); ++i)
        cells[i].add(row.views[features[i]], block, number, features[i]);
    });
  } catch (const belay::Error&) {
    return {};
  }
  GuessedTypes found;
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (const std::string text = cells[i].what_is_misread(); !text.empty()) {
      if (found.misread.empty()) found.misread_text = "\"" + columns[i].name + "\": " + text;
      found.misread.push_back(columns[i].name);
    }
    if (!cells[i].guesses) continue;
    columns[i].type = cells[i].guess.type();
    if (columns[i].type == "category" && columns[i].max_size == 0 && columns[i].hash_buckets == 0)
      columns[i].max_size = kMostWords;
    const std::string text = cells[i].guess.text();
    if (text == "number") continue;
    found.any = true;
    if (found.said.size() < kMostSaid)
      found.said += (found.said.empty() ? "\"" : "; \"") + columns[i].name + "\" is " + text;
  }
  return found;
}

std::vector<belay::Column> fit_columns(const CsvFile& file, const std::vector<std::size_t>& features,
                                       const std::vector<std::int64_t>& rows, const belay::Gaps& gaps,
                                       const std::vector<belay::ColumnOptions>& columns,
                                       std::vector<std::string>& only_gaps) {
  for (const belay::ColumnOptions& column : columns) belay::check_column_keys("columns", column);
  std::vector<belay::Column> fitted;
  // A fit keeps its column's numbers in double. So a pass over the file fits a quarter of the columns.
  const std::size_t part = (columns.size() + kPasses - 1) / kPasses;
  for (std::size_t begin = 0; begin < columns.size(); begin += part) {
    const std::size_t end = std::min(begin + part, columns.size());
    std::vector<belay::ColumnFit> fits;
    for (std::size_t i = begin; i < end; ++i) fits.emplace_back(columns[i], gaps);
    file.each_row(rows, [&](const belay::csv::Block&, std::size_t, const belay::csv::Fields& row) {
      for (std::size_t i = begin; i < end; ++i) fits[i - begin].add(row.views[features[i]]);
    });
    for (belay::ColumnFit& fit : fits) {
      fitted.push_back(fit.finish());
      if (fit.only_gaps()) only_gaps.push_back(fitted.back().name);
    }
  }
  return fitted;
}

std::vector<NewCellsNote> new_cells_notes(const CsvFile& file, const TableColumns& columns,
                                          const std::vector<NewCells>& new_cells, std::int64_t rows) {
  std::vector<NewCellsNote> notes;
  for (std::size_t i = 0; i < new_cells.size(); ++i) {
    const NewCells& cells = new_cells[i];
    const belay::Column& column = columns.typed[i];
    const std::size_t place = columns.features[i];
    const auto say = [&](std::int64_t count, std::int64_t first, const std::string& what) {
      notes.push_back({10 * count >= rows, file.place(first, place) + ": column \"" + column.name +
                                               "\": " + std::to_string(count) + " of " + std::to_string(rows) +
                                               " cells " + what});
    };
    // With 'min_count' or 'max_size' the training had such words, too.
    if (cells.words != 0 && (!column.has_unknown || 2 * cells.words >= rows)) {
      const std::string word = file.fields(cells.first_word)[place];
      say(cells.words, cells.first_word,
          std::string(cells.words == 1 ? "is a word" : "are words") + " that the model did not learn, such as \"" +
              word + "\"" + belay::did_you_mean(word, column.words));
    }
    const bool all_gaps = cells.gaps == rows;
    if (cells.gaps != 0 && ((column.type == "category" && !column.has_gaps) || all_gaps))
      say(cells.gaps, cells.first_gap,
          std::string(cells.gaps == 1 ? "is a gap" : "are gaps") + (all_gaps ? "" : ", and the training had none"));
  }
  return notes;
}

}  // namespace csv_input
