// SPDX-License-Identifier: Apache-2.0
#include "csv_columns.h"

#include <belay/error.h>

#include <cstddef>

namespace csv_input {
namespace {

constexpr std::int64_t kMostWords = 256;  // of a category that has no entry
constexpr std::size_t kMostSaid = 2000;   // bytes of a line of the log

}  // namespace

bool guess_types(const CsvFile& file, const std::vector<std::size_t>& features, const std::vector<std::int64_t>& rows,
                 const belay::Gaps& gaps, std::vector<belay::ColumnOptions>& columns, std::string& said) {
  std::vector<belay::ColumnGuess> guesses(features.size(), belay::ColumnGuess(gaps));
  Fields record;
  try {
    for (const std::int64_t row : rows) {
      file.fields(row, record);
      for (std::size_t i = 0; i < features.size(); ++i)
        if (columns[i].type.empty()) guesses[i].add(record.views[features[i]]);
    }
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
                                       const std::vector<belay::ColumnOptions>& columns) {
  std::vector<belay::ColumnFit> fits;
  for (const belay::ColumnOptions& column : columns) {
    belay::check_column_keys("columns", column);
    fits.emplace_back(column, gaps);
  }
  Fields record;
  for (const std::int64_t row : rows) {
    file.fields(row, record);
    for (std::size_t i = 0; i < features.size(); ++i) fits[i].add(record.views[features[i]]);
  }
  std::vector<belay::Column> fitted;
  for (belay::ColumnFit& fit : fits) fitted.push_back(fit.finish());
  return fitted;
}

}  // namespace csv_input
