// SPDX-License-Identifier: Apache-2.0
// The rows of a CSV file as numbers.
#pragma once

#include <belay/decode_pool.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "csv_file.h"

namespace csv_input {

enum class LabelType { kClass, kFloat };

struct TableColumns {
  std::vector<std::size_t> features;
  std::optional<std::size_t> label;
  LabelType label_type = LabelType::kClass;
  std::vector<std::string> classes;  // names by class number; empty: see Table::classes
  std::optional<std::size_t> id = {};
};

struct Table {
  std::size_t width = 0;         // features of a row
  std::vector<double> features;  // row after row
  // Of kClass: the index of the label in TableColumns::classes. Without such a list: the numbers themselves, if the
  // first row's label is a whole number from 0; else the labels are numbered in the order of first appearance.
  std::vector<std::int64_t> classes;
  std::vector<float> targets;    // of kFloat
  std::vector<std::string> ids;  // of TableColumns::id, as they are in the file
};

// Parses every row. DATA_LOSS with file, line and column of each cell that does not fit, one a line; of more than three
// that are wrong alike, in one column for example, the first one and their number. At most 20 lines.
Table parse_table(const CsvFile& file, const TableColumns& columns, belay::DecodePool& pool);

// Scales each feature so that over `rows` its mean is 0 and its standard deviation 1. A feature that is the same in all
// of them becomes 0 there.
void standardize(Table& table, const std::vector<std::int64_t>& rows);

}  // namespace csv_input
