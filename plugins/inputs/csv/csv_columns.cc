// SPDX-License-Identifier: Apache-2.0
#include "csv_columns.h"

#include <belay/error.h>

#include <algorithm>
#include <cstddef>

namespace csv_input {
namespace {

constexpr std::int64_t kMostWords = 256;  // of a category that has no entry
constexpr std::size_t kMostSaid = 2000;   // bytes of a line of the log
constexpr std::size_t kPasses = 4;        // over the file, to fit all columns

}  // namespace

bool guess_types(const CsvFile& file, const std::vector<std::size_t>& features, const std::vector<std::int64_t>& rows,
                 const belay::Gaps& gaps, std::vector<belay::ColumnOptions>& columns, std::string& said) {
  std::vector<belay::ColumnGuess> guesses;
  for (const belay::ColumnOptions& column : columns) guesses.emplace_back(column.gaps.empty() ? gaps : column.gaps);
  try {
    file.each_row(rows, [&](const belay::csv::Block&, std::size_t, const belay::csv::Fields& row) {
      for (std::size_t i = 0; i < features.size(); ++i)
        if (columns[i].type.empty()) guesses[i].add(row.views[features[i]]);
    });
  } catch (const belay::Error&) {
    return false;
  }
  bool any = false;
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (!columns[i].type.empty()) continue;
    columns[i].type = guesses[i].type();
    if (columns[i].type == "category" && columns[i].max_size == 0 && columns[i].hash_buckets == 0)
      columns[i].max_size = kMostWords;
    const std::string text = guesses[i].text();
    if (text == "number") continue;
    any = true;
    if (said.size() < kMostSaid) said += (said.empty() ? "\"" : "; \"") + columns[i].name + "\" is " + text;
  }
  return any;
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

}  // namespace csv_input
