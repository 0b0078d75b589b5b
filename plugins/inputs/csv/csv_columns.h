// SPDX-License-Identifier: Apache-2.0
// The types of a CSV file's columns: those of the manifest, those that are guessed from its rows, and what they fit.
#pragma once

#include <belay/columns.h>

#include <cstdint>
#include <string>
#include <vector>

#include "csv_table.h"

namespace csv_input {

struct GuessedTypes {
  bool any = false;                  // false: all are numbers without a gap, or a row cannot be split
  std::string said;                  // lists the types
  std::vector<std::string> misread;  // the columns whose words are numbers or dates for people
  std::string misread_text;          // what is wrong with the first of them, with place and fix
};
// Guesses the types that `columns` lack from these rows. `features` are the columns' places in the file.
GuessedTypes guess_types(const CsvFile& file, const std::vector<std::size_t>& features,
                         const std::vector<std::int64_t>& rows, const belay::Gaps& gaps,
                         std::vector<belay::ColumnOptions>& columns);

// Fits the columns on these rows. `only_gaps` gets the columns that have no value in them.
std::vector<belay::Column> fit_columns(const CsvFile& file, const std::vector<std::size_t>& features,
                                       const std::vector<std::int64_t>& rows, const belay::Gaps& gaps,
                                       const std::vector<belay::ColumnOptions>& columns,
                                       std::vector<std::string>& only_gaps);

struct NewCellsNote {
  bool are_many = false;  // a tenth of the rows or more
  std::string text;       // with the place of the first cell
};
// Names the columns whose cells the training did not have, in so many rows. A model knows nothing of such a word, and
// the word's embedding was never trained. A few unknown words are usual.
std::vector<NewCellsNote> new_cells_notes(const CsvFile& file, const TableColumns& columns,
                                          const std::vector<NewCells>& new_cells, std::int64_t rows);

}  // namespace csv_input
