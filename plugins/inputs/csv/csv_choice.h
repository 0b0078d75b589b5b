// SPDX-License-Identifier: Apache-2.0
// Decides which columns of a CSV file are features, label, id and weight: by the options, and by the names that the
// training of the model kept.
#pragma once

#include <belay/column_split.h>
#include <belay/columns.h>
#include <belay/input.h>

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "csv_table.h"

namespace csv_input {

// The options that decide, as the manifest has them.
struct ChoiceOptions {
  std::string path;  // the first file, for messages
  std::string label, id;
  LabelType label_type = LabelType::kClass;
  std::vector<std::string> classes, features;
  bool ignores_extra = false;
  const belay::ColumnSplitOptions& split;
};

struct ChosenColumns {
  TableColumns table;
  std::map<std::size_t, belay::ColumnOptions> entries;  // of the manifest, by column
  std::set<std::size_t> ignored;                        // columns
  std::optional<std::size_t> split = {};                // the column that decides about the parts
};

// Returns the names of the columns in the training's file that are features. None: there was no training.
std::optional<std::vector<std::string>> trained_features(const belay::InputSpec& spec);

// Chooses the columns. `types` are the manifest's entries. Errors name the option.
ChosenColumns choose_columns(const CsvFile& file, const belay::InputSpec& spec, const ChoiceOptions& options,
                             const std::vector<belay::ColumnOptions>& types);

}  // namespace csv_input
