// SPDX-License-Identifier: Apache-2.0
// Parses the rows of a CSV file as numbers: the features as float32, row after row.
#pragma once

#include <belay/columns.h>
#include <belay/csv/file.h>
#include <belay/decode_pool.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "csv_labels.h"

namespace csv_input {

enum class LabelType { kClass, kFloat };

// The mean and the deviation of each feature, as `standardize` measured them.
struct Scales {
  std::vector<double> means, deviations;
};

struct TableColumns {
  std::vector<std::size_t> features;
  std::optional<std::size_t> label;
  LabelType label_type = LabelType::kClass;
  std::vector<std::string> classes = {};  // names by class number; empty: the labels decide
  bool learned = false;                   // the training's classes, not the option's
  std::optional<std::size_t> id = {};
  std::optional<std::size_t> weight = {};
  std::vector<belay::Column> typed = {};  // of the features; empty: they are numbers without gaps
  Scales scales = {};                     // of the features without types; empty: they stay as they are
  belay::Gaps gaps = {};                  // labels that are missing, unless they are classes
  bool notes_new = false;                 // the table has NewCells
};

// A label that float32 cannot hold: it changes by more than the rounding of its fraction.
struct ChangedLabel {
  std::int64_t row = 0;  // of the file
  double is = 0, becomes = 0;
};

// The first row of the file, for each of TableColumns::features, whose cell becomes another number as float32, and the
// first one whose cell has leading zeros. kNone: there is none.
struct OddNumbers {
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> changed, leading_zeros;
};

// The cells of a typed column that the model may not know: words that are none of its vocabulary, and gaps. The first
// of each is a row of the file.
struct NewCells {
  std::int64_t words = 0, gaps = 0;
  std::int64_t first_word = OddNumbers::kNone, first_gap = OddNumbers::kNone;
};

struct Table {
  std::size_t width = 0;        // features of a row
  std::vector<float> features;  // row after row
  // For kClass: the index of the label in `class_names`, as Labels numbers them, and the labels of one row alone.
  std::vector<std::int64_t> classes;
  std::vector<std::string> class_names;
  std::vector<std::pair<std::int64_t, std::int64_t>> lone_classes;  // class and row
  NumberedLabels numbered_labels;
  std::vector<float> targets;                 // for kFloat
  std::optional<ChangedLabel> changed_label;  // the first one of `targets`
  std::int64_t changed_labels = 0;
  OddNumbers odd_numbers;
  std::vector<NewCells> new_cells;         // by typed column
  std::vector<std::string> ids;            // TableColumns::id, as in the file
  std::vector<float> weights;              // TableColumns::weight
  std::size_t categories = 0;              // ids of a row, of the columns that deliver ids
  std::vector<std::int64_t> category_ids;  // row after row
};

// Parses every row, and keeps those of `kept`, which ascend; null: all. DATA_LOSS has a line with file, line and column
// for each bad cell. If more than three have the same fault, in one column for example, it shows the first and their
// number. It has at most 20 lines. `all_faults`: false stops at the first bad cell.
Table parse_table(const CsvFile& file, const TableColumns& columns, belay::DecodePool& pool,
                  const std::vector<std::int64_t>* kept = nullptr, bool all_faults = true);

// Returns each feature's mean and standard deviation over `rows`, which ascend. If all values are the same, the
// deviation is 1. DATA_LOSS: a cell of them is not a number.
Scales measure(const CsvFile& file, const std::vector<std::size_t>& features, const std::vector<std::int64_t>& rows);

}  // namespace csv_input
