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

inline constexpr std::int64_t kMostNumberedClasses = 100'000;

struct TableColumns {
  std::vector<std::size_t> features;
  std::optional<std::size_t> label;
  LabelType label_type = LabelType::kClass;
  std::vector<std::string> classes;  // names by class number; empty: see Table::class_names
  bool learned = false;              // the classes are the training's, not the option's
  std::optional<std::size_t> id = {};
};

struct Table {
  std::size_t width = 0;         // features of a row
  std::vector<double> features;  // row after row
  // Of kClass: the index of the label in `class_names`, which are TableColumns::classes. Without such a list they are
  // "0" to the largest one, if the first row's label is a whole number from 0; else the labels in the order of their
  // first appearance. There are no names of numbers above kMostNumberedClasses.
  std::vector<std::int64_t> classes;
  std::vector<std::string> class_names;
  std::vector<float> targets;    // of kFloat
  std::vector<std::string> ids;  // of TableColumns::id, as they are in the file
};

// Parses every row. DATA_LOSS with file, line and column of each cell that does not fit, one a line; of more than three
// that are wrong alike, in one column for example, the first one and their number. At most 20 lines.
Table parse_table(const CsvFile& file, const TableColumns& columns, belay::DecodePool& pool);

// Of each feature its mean over `rows` and its standard deviation there; 1 where all values are the same.
struct Scales {
  std::vector<double> means, deviations;
};
Scales measure(const Table& table, const std::vector<std::int64_t>& rows);
// Subtracts the mean and divides by the deviation. `scales` has one of each for every feature.
void standardize(Table& table, const Scales& scales);

}  // namespace csv_input
