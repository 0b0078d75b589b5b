// SPDX-License-Identifier: Apache-2.0
// Numbers the labels of a CSV file that are classes.
#pragma once

#include <belay/columns.h>
#include <belay/csv/file.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace csv_input {

using CsvFile = belay::csv::File;

inline constexpr std::int64_t kMostNumberedClasses = 100'000;

struct LabelNames {
  std::vector<std::string> classes;  // by class number; empty: the labels decide
  bool learned = false;              // the training's classes, not the option's
  belay::Gaps gaps = {};             // labels that are missing, unless they are classes
};

// Labels that are the numbers of their classes. `coded` is the first one with leading zeros, such as "01"; empty: none
// has any. `found`: the numbers that occur, unless they are above kMostNumberedClasses.
struct NumberedLabels {
  std::string coded;
  std::vector<std::int64_t> found;
};

// Numbers each label, in the order of the rows. A gap is a class only if the list has it. If there is no list
// of classes and the first label is a whole number from 0, labels are the numbers. Else they count from 0 in the order
// of their first appearance.
class Labels {
 public:
  // INVALID_ARGUMENT: a class is in the list twice. `names` outlives this.
  explicit Labels(const LabelNames& names);

  // Returns the number of the next row's label. None: it is no class; then call fail_by_labels.
  std::optional<std::int64_t> number(std::string_view label);

  // Returns the classes by number. Numbers above kMostNumberedClasses have no names.
  std::vector<std::string> class_names() const;
  // Returns the classes that one row alone has, with that row, by number. At most one per class; empty: there are fewer
  // than ten rows for each class.
  std::vector<std::pair<std::int64_t, std::int64_t>> lone() const;
  // None is found if the labels are no numbers.
  NumberedLabels numbered() const;

 private:
  std::optional<std::int64_t> find(std::string_view label);

  const LabelNames& names_;
  bool by_number_ = false;  // the label is the number, also if it is "01" or "1.0"
  std::string coded_;       // see NumberedLabels
  std::map<std::string, std::int64_t, std::less<>> numbers_;
  std::vector<std::string> appeared_;
  std::int64_t rows_ = 0, largest_ = -1;
  struct Count {
    std::int64_t rows = 0, last = 0;
  };
  std::vector<Count> counts_;
};

// Fails with DATA_LOSS and all labels of the column that are no classes. This is slow.
void fail_by_labels(const CsvFile& file, std::size_t column, const LabelNames& names);

// Returns what is wrong, with place and fix, if the classes seem to be numbers to predict: most have decimals, a comma
// or a sign, or they are whole numbers of which few occur. It also names leading zeros, and numbers without a row.
// `classes` are those of the rows. Empty: nothing.
std::string numbers_as_classes(const CsvFile& file, std::size_t column, const std::vector<std::int64_t>& classes,
                               const std::vector<std::string>& class_names, const NumberedLabels& numbered);

}  // namespace csv_input
