// SPDX-License-Identifier: Apache-2.0
#include "csv_split.h"

#include <belay/error.h>

namespace csv_input {

using belay::Code;
using belay::fail;

std::optional<std::size_t> find_split_column(const CsvFile& file, const belay::ColumnSplitOptions& options,
                                             std::optional<std::size_t> label) {
  if (!belay::splits_by_column(options)) return std::nullopt;
  if (options.split_column.empty() && !label)
    fail(Code::kInvalidArgument,
         "[B3020] split_column: the file has no label by whose classes the rows are split; name a column");
  if (options.split_column.empty()) return label;
  const std::size_t column = file.find_column("split_column", options.split_column);
  if (column == label && (options.split_by == "groups" || options.split_by == "column"))
    fail(Code::kInvalidArgument, "[B3020] split_column: \"" + options.split_column.string() +
                                     "\" is the label's column, which is no column of " +
                                     (options.split_by == "groups" ? "groups" : "parts") + "; name another one");
  return column;
}

std::vector<belay::Part> split_table(const CsvFile& file, const belay::ColumnSplitOptions& options,
                                     const SplitColumn& by) {
  if (!by.column) return belay::split_rows(file.rows(), options);
  belay::ColumnSplit split(options, by.gaps, by.formats);
  belay::csv::Fields cells;
  file.each_block([&](const belay::csv::Block& block) {
    for (std::size_t i = 0; i < block.rows(); ++i) {
      block.fields(i, cells);
      if (const std::string fault = split.add(cells.views[*by.column]); !fault.empty())
        fail(Code::kInvalidArgument, "[B3053] " + block.place(i, *by.column) + ": column \"" +
                                         file.names()[*by.column] + "\" of the split " + fault);
    }
    return true;
  });
  return split.finish();
}

std::string split_text(const CsvFile& file, const belay::ColumnSplitOptions& options, const SplitColumn& by,
                       const std::vector<belay::Part>& parts) {
  std::string how;
  if (by.column)
    how = (options.split_by == "stratify" ? "by the classes of \""
           : options.split_by == "groups" ? "by the groups of \""
           : options.split_by == "time"   ? "by the times of \""
                                          : "by the words of \"") +
          file.names()[*by.column] + "\"";
  else if (options.every != 0)
    how = "one row in " + std::to_string(options.every);
  if (options.folds != 0)
    how += (how.empty() ? "" : ", ") + ("fold " + std::to_string(options.fold)) + " of " +
           std::to_string(options.folds) + " (from 0)";
  if (how.empty() && options.test_fraction == 0) return "";
  return "split: " + how + (how.empty() ? "" : ": ") + "rows " + belay::parts_text(parts);
}

}  // namespace csv_input
