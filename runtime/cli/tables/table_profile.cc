// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/tables/table_profile.h"

#include "runtime/cli/tables/column_notes.h"

namespace belay::runtime {

CommandOptions table_options(const std::string& prefix) {
  return {{"delimiter", prefix + "character between two fields; without it the first row decides", Takes::kText, "C"},
          {"no-header", prefix + "the first row has no names"},
          {"skip-lines", prefix + "number of lines before the first row to ignore", Takes::kNatural, "N"}};
}

TableFiles table_files(const Given& given, const std::string& command, std::vector<std::string> paths) {
  TableFiles files{std::move(paths), given.text("delimiter"), !given.has("no-header")};
  if (files.delimiter.size() > 1)
    throw UsageError("[B5004] belay " + command + ": --delimiter takes one character, as in: --delimiter ';'" +
                     given.see_help());
  if (given.has("skip-lines")) files.skip_lines = static_cast<std::int64_t>(given.natural("skip-lines"));
  return files;
}

csv::File open_table(const TableFiles& table, char& delimiter) {
  const std::vector<std::string> files = csv::files_of(table.paths);
  csv::Format format{files[0], table.header};
  format.more_paths.assign(files.begin() + 1, files.end());
  format.skip_lines = table.skip_lines;
  const auto open = [&](char by) {
    format.delimiter = delimiter = by;
    return csv::File(format);
  };
  if (!table.delimiter.empty()) return open(table.delimiter[0]);
  for (const char by : {',', ';', '\t', '|'}) {
    try {
      csv::File file = open(by);
      if (file.columns().size() != 1) return file;
    } catch (const Error& e) {
      // A header with quotes, such as "a";"b", is broken for another delimiter.
      if (e.code() != Code::kDataLoss) throw;
    }
  }
  return open(',');
}

TableProfile profile_table(const csv::File& file, std::optional<std::size_t> label, const Gaps& gaps) {
  TableProfile table;
  table.rows = file.rows();
  std::vector<ColumnNotes> notes;
  notes.reserve(file.names().size());
  for (const std::string& name : file.names()) notes.emplace_back(name, gaps);
  csv::Fields cells;
  file.each_block([&](const csv::Block& block) {
    for (std::size_t row = 0; row < block.rows(); ++row) {
      if (const auto fault = block.take_fields(row, cells)) {
        if (table.damaged++ == 0) table.damage = fault->message();
        continue;
      }
      if (std::equal(cells.views.begin(), cells.views.end(), file.columns().begin(), file.columns().end())) {
        if (table.damaged++ == 0)
          table.damage = block.place(row, 0) + ": this row repeats the names of the columns; remove it";
        continue;
      }
      for (std::size_t i = 0; i < notes.size(); ++i)
        notes[i].add(cells.views[i], label && *label != i ? cells.views[*label] : std::string_view(), block, row, i);
    }
    return true;
  });
  for (std::size_t i = 0; i < notes.size(); ++i)
    table.columns.push_back(notes[i].finish(label ? file.names()[*label] : ""));
  return table;
}

}  // namespace belay::runtime
