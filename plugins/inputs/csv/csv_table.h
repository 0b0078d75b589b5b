// SPDX-License-Identifier: Apache-2.0
// Parses the rows of a CSV file as numbers.
#pragma once

#include <belay/columns.h>
#include <belay/decode_pool.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "csv_file.h"

namespace csv_input {

enum class LabelType { kClass, kFloat };

inline constexpr std::int64_t kMostNumberedClasses = 100'000;

struct TableColumns {
  std::vector<std::size_t> features;
  std::optional<std::size_t> label;
  LabelType label_type = LabelType::kClass;
  std::vector<std::string> classes;  // names by class number; empty: see Table::class_names
  bool learned = false;              // the training's classes, not the option's
  std::optional<std::size_t> id = {};
  std::optional<std::size_t> weight = {};
  std::vector<belay::Column> typed = {};  // of the features; empty: they are numbers without gaps
};

struct Table {
  std::size_t width = 0;         // features of a row
  std::vector<double> features;  // row after row
  // For kClass: the index of the label in `class_names`, which are TableColumns::classes. If there is no such list and
  // the first row has a whole number from 0, the names are "0" to the largest. Else they are the labels in the order of
  // their first appearance. Numbers above kMostNumberedClasses have no names.
  std::vector<std::int64_t> classes;
  std::vector<std::string> class_names;
  std::vector<float> targets;              // for kFloat
  std::vector<std::string> ids;            // TableColumns::id, as in the file
  std::vector<float> weights;              // TableColumns::weight
  std::size_t categories = 0;              // ids of a row, of the columns that deliver ids
  std::vector<std::int64_t> category_ids;  // row after row
};

// Parses every row. DATA_LOSS has a line with file, line and column for each bad cell. If more than three have the same
// fault, in one column for example, it shows the first and their number. It has at most 20 lines. `all_faults`: false
// stops at the first bad cell.
Table parse_table(const CsvFile& file, const TableColumns& columns, belay::DecodePool& pool, bool all_faults = true);

struct Scales {
  std::vector<double> means, deviations;
};
// Returns each feature's mean and standard deviation over `rows`. If all values are the same, the deviation is 1.
Scales measure(const Table& table, const std::vector<std::int64_t>& rows);
// Subtracts the mean and divides by the deviation. `scales` has one of each for every feature.
void standardize(Table& table, const Scales& scales);

}  // namespace csv_input
