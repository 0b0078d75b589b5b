// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/tables/look_command.h"

#include <algorithm>
#include <iostream>

#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/text/shell_word.h"
#include "runtime/cli/text/text_table.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string title_of(const TableFiles& files, char delimiter, const TableProfile& table) {
  std::vector<std::string> names;
  for (const std::string& path : files.paths) names.push_back(escaped(path));
  return joined(names) + ": " + count_text(static_cast<std::uint64_t>(table.rows), "row") + ", " +
         count_text(table.columns.size(), "column") + (delimiter == ',' ? "" : ", delimiter = ") +
         (delimiter == ',' ? "" : double_quoted(std::string(1, delimiter))) + "\n";
}

std::string columns_text(const TableProfile& table) {
  TextTable rows;
  rows.add({"column", "type", "gaps", "different", "range or most frequent"});
  for (const ColumnProfile& c : table.columns)
    rows.add(
        {c.name, c.type, std::to_string(c.gaps), std::to_string(c.different) + (c.many ? " or more" : ""), c.values});
  return rows.text("  ");
}

std::string odd_text(const TableProfile& table, const csv::File& file, bool header) {
  std::string text;
  if (const std::string what = file.first_row_is_not_header(); !what.empty())
    text += "  " + what + "; give --skip-lines 1\n";
  const std::string name_like_value = header ? belay::name_like_value(file.columns()) : "";
  if (!name_like_value.empty())
    text += "  the header has numbers as names of columns, such as " + double_quoted(name_like_value) +
            "; if it is the first row of the data, give --no-header\n";
  if (table.damaged != 0)
    text += "  " + count_text(static_cast<std::uint64_t>(table.damaged), "row") + " cannot be read, and " +
            (table.damaged == 1 ? "is" : "are") +
            " left out here. The first: " + escaped(take_code(table.damage).text) + "\n";
  for (const ColumnProfile& column : table.columns)
    for (const std::string& sentence : column.odd)
      text += "  " + escaped(column.name) + ": " + escaped(sentence) + "\n";
  return text;
}

void print_table(const TableFiles& files, const std::string& label, std::ostream& out) {
  char delimiter = ',';
  const csv::File file = open_table(files, delimiter);
  std::optional<std::size_t> column;
  if (!label.empty()) column = file.find_column("--label", label);
  const TableProfile table = profile_table(file, column, Gaps(std::begin(kGaps), std::end(kGaps)));
  out << title_of(files, delimiter, table) << columns_text(table);
  const std::string odd = odd_text(table, file, files.header);
  out << (odd.empty() ? "\nnothing is odd\n" : "\nodd\n" + odd);
  if (files.paths.size() == 1)
    out << "\nbelay new manifest NAME --data " << shell_word(files.paths[0]) << " --label "
        << (label.empty() ? "COLUMN" : shell_word(label)) << "\n";
}

}  // namespace

int look_command(const TableFiles& files, const std::string& label, std::ostream& out, std::ostream& err) {
  try {
    print_table(files, label, out);
    return kExitDone;
  } catch (const Error& e) {
    err << error_line(e.what()) << "\n";
    return kExitUsage;
  }
}

Command declare_look() {
  CommandOptions options = {
      {"label", "column to predict, by name or number; others are compared with it", Takes::kText, "COLUMN"}};
  for (CommandOption& option : table_options("")) options.push_back(std::move(option));
  return {.name = "look",
          .arguments = "FILE...",
          .what = "prints the columns of CSV files, their types, gaps and values, and what is odd",
          .options = std::move(options),
          .run = [](const Given& given) {
            const TableFiles files = table_files(given, "look", given.arguments());
            if (files.paths.empty())
              throw UsageError("[B5003] belay look takes CSV files, as in: belay look data.csv" + given.see_help());
            return look_command(files, given.text("label"), std::cout, std::cerr);
          }};
}

}  // namespace belay::runtime
