// SPDX-License-Identifier: Apache-2.0
// The parts of a CSV file's rows: training, evaluation and test.
#pragma once

#include <belay/column_split.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "csv_table.h"

namespace csv_input {

// The column that decides about the parts, and how its cells are read.
struct SplitColumn {
  std::optional<std::size_t> column;  // none: the rows' numbers decide
  belay::Gaps gaps = {};
  std::vector<std::string> formats = {};  // of dates; empty: ISO 8601
};

// Returns the column that the options name. By default the classes are those of `label`. INVALID_ARGUMENT: there is no
// such column, or the label has the groups or the parts.
std::optional<std::size_t> find_split_column(const CsvFile& file, const belay::ColumnSplitOptions& options,
                                             std::optional<std::size_t> label);

// Returns the part of each row of the file. INVALID_ARGUMENT has the place of a cell that belongs to no part.
std::vector<belay::Part> split_table(const CsvFile& file, const belay::ColumnSplitOptions& options,
                                     const SplitColumn& by);

// Returns what the options chose, for the log: `split: by the groups of "customer": 800 rows train, 200 eval`. Empty:
// the options are those of a simple split, of which the host shows both sizes.
std::string split_text(const CsvFile& file, const belay::ColumnSplitOptions& options, const SplitColumn& by,
                       const std::vector<belay::Part>& parts);

}  // namespace csv_input
