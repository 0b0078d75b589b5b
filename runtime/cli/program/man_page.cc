// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/program/man_page.h"

#include <algorithm>
#include <sstream>

#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/program/help_command.h"

namespace belay::runtime {
namespace {

// Escapes text for roff: a backslash and a hyphen have another meaning there, and so has a dot or ' at the start of a
// line.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    if (c == '-') out += "\\-";
    if (c != '\\' && c != '-') out += c;
  }
  return (out.starts_with('.') || out.starts_with('\'') ? "\\&" : "") + out;
}

// Returns a cell of a table in Markdown without `...`: [text](link) as its words, "\|" as a bar.
std::string plain(std::string_view cell) {
  std::string out;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    const std::size_t link =
        cell[i] == ']' && i + 1 < cell.size() && cell[i + 1] == '(' ? cell.find(')', i) : cell.npos;
    if (link != cell.npos) {
      i = link;
    } else if (cell[i] != '`' && cell[i] != '[' && !(cell[i] == '\\' && i + 1 < cell.size() && cell[i + 1] == '|')) {
      out += cell[i];
    }
  }
  return out;
}

// The cells of "| a | b |".
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t begin = 2; begin < line.size();) {
    const std::size_t end = std::min(line.find(" |", begin), line.size());
    cells.push_back(plain(line.substr(begin, end - begin)));
    begin = end + 3;
  }
  return cells;
}

void paragraph(std::ostringstream& out, const std::string& head, const std::string& text) {
  out << ".TP\n.B " << roff(head) << "\n" << roff(text) << "\n";
}

// Writes the first and the last column of the table in a section of the page on commands.
void table(std::ostringstream& out, const std::string& topic) {
  std::ostringstream page;
  help_command({topic}, page);
  std::istringstream lines(page.str());
  bool rows = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("|---")) {
      rows = true;
    } else if (rows && line.starts_with("| ")) {
      const std::vector<std::string> cells = cells_of(line);
      paragraph(out, cells.front(), cells.back());
    }
  }
}

}  // namespace

std::string man_page(std::string_view version) {
  std::ostringstream out;
  out << ".TH BELAY 1 \"\" \"belay " << roff(version) << "\" \"User Commands\"\n"
      << ".SH NAME\nbelay \\- trains models that plugins and a manifest describe\n"
      << ".SH SYNOPSIS\n.B belay\n.I COMMAND\n[\\fIARGUMENTS\\fR] [\\fIOPTIONS\\fR]\n"
      << ".SH DESCRIPTION\nA manifest in TOML names the input, the model, the optimizer and the hooks of a run; each "
         "is a plugin in a shared library. A run continues from its newest checkpoint by itself.\n"
      << ".PP\n.B belay help\n.I TOPIC\nprints a page of the reference:";
  for (const std::string& topic : help_topics())
    out << " " << roff(topic) << (topic == help_topics().back() ? "." : ",");
  out << "\n.SH COMMANDS\n";
  for (const Command& c : commands()) {
    paragraph(out, "belay " + c.name + (c.arguments.empty() ? "" : " ") + c.arguments, c.what);
    out << ".RS\n";
    for (const CommandOption& o : c.options)
      paragraph(out, o.full_name() + (o.value.empty() ? "" : " ") + o.value, o.what);
    out << ".RE\n";
  }
  out << ".SH EXIT STATUS\n";
  table(out, "exit-statuses");
  out << ".SH ENVIRONMENT\n";
  table(out, "environment-variables");
  return out.str();
}

}  // namespace belay::runtime
