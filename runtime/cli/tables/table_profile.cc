// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/tables/table_profile.h"

#include "runtime/cli/tables/column_notes.h"

namespace belay::runtime {

csv::File open_table(const TableFiles& table, char& delimiter) {
  const std::vector<std::string> files = csv::files_of(table.paths);
  csv::Format format{files[0], table.header};
  format.more_paths.assign(files.begin() + 1, files.end());
  delimiter = table.delimiter.empty() ? ',' : table.delimiter[0];
  format.delimiter = delimiter;
  csv::File file(format);
  if (!table.delimiter.empty() || file.columns().size() != 1) return file;
  for (const char other : {';', '\t', '|'})
    if (file.columns()[0].find(other) != std::string::npos) {
      format.delimiter = delimiter = other;
      return csv::File(format);
    }
  return file;
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
