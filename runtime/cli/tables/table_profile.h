// SPDX-License-Identifier: Apache-2.0
// The facts of a table: types, gaps, values and oddities, by column. The types are those that the csv input guesses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/columns.h"
#include "belay/csv/file.h"
#include "runtime/cli/arguments/command.h"

namespace belay::runtime {

struct ColumnProfile {
  std::string name, type;
  std::int64_t rows = 0, gaps = 0, different = 0;           // different cells, without gaps
  bool many = false;                                        // there are more different cells than `different`
  bool whole = false;                                       // all cells are whole numbers from 0
  std::string values;                                       // "18 to 92", or the most frequent words with their rows
  std::vector<std::pair<std::string, std::int64_t>> words;  // most frequent first, at most ten
  std::vector<std::string> formats;                         // of dates, if they are not all of ISO 8601
  std::vector<std::string> other_formats;                   // that read as many of these dates, as other days
  std::vector<std::string> strangers;                       // cells of numbers or dates that are none; at most 20
  bool more_strangers = false;                              // there are more
  std::string leading_zero;                                 // the first number with leading zeros; empty: there is none
  std::string misread;  // what is wrong with numbers that are words here; empty: nothing
  std::vector<std::pair<std::string, std::int64_t>> rare;  // words with fewer than five rows, rarest first; at most 5
  bool constant = false, id = false;                       // each cell is the same, or another one
  std::vector<std::string> odd;                            // sentences
};

struct TableProfile {
  std::vector<ColumnProfile> columns;
  std::int64_t rows = 0, damaged = 0;
  std::string damage;  // message of the first damaged row
};

// A table's files. `delimiter` is guessed from the first row if it is empty.
struct TableFiles {
  std::vector<std::string> paths;  // with patterns
  std::string delimiter = {};
  bool header = true;
  std::int64_t skip_lines = 0;  // before the header
};

// The options of a command that reads tables, and their values. `prefix` begins each help. UsageError: the delimiter
// has several characters.
CommandOptions table_options(const std::string& prefix);
TableFiles table_files(const Given& given, const std::string& command, std::vector<std::string> paths);

// Opens the files. `delimiter` becomes the one that is used.
csv::File open_table(const TableFiles& table, char& delimiter);

// Reads all rows. Damaged rows are counted and left out, and so are rows that repeat the header. `label` is the column
// to compare with others.
TableProfile profile_table(const csv::File& file, std::optional<std::size_t> label, const Gaps& gaps);

}  // namespace belay::runtime
