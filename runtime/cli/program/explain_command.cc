// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/program/explain_command.h"

#include <algorithm>
#include <cctype>
#include <iostream>
#include <string_view>

#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/program/help_command.h"
#include "runtime/cli/text/text_table.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::string_view kSectionMark = "\n### ";

const std::string& codes_page() {
  const std::vector<HelpPage>& pages = help_pages();
  return std::find_if(pages.begin(), pages.end(), [](const HelpPage& page) { return page.name == "codes"; })->text;
}

std::string in_upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

std::vector<ExplainedCode> explained_codes(const std::string& page) {
  std::vector<ExplainedCode> all;
  for (std::size_t at = page.find(kSectionMark); at != page.npos; at = page.find(kSectionMark, at + 1)) {
    const std::size_t begin = at + kSectionMark.size(), line = page.find('\n', begin), colon = page.find(": ", begin);
    const std::size_t end = std::min(page.find(kSectionMark, line), page.find("\n## ", line));
    all.push_back({page.substr(begin, colon - begin), page.substr(colon + 2, line - colon - 2),
                   page.substr(line, end == page.npos ? end : end - line)});
  }
  return all;
}

int explain_command(const std::string& code, std::ostream& out) {
  TextTable table;
  std::vector<std::string> names;
  for (const ExplainedCode& c : explained_codes(codes_page())) {
    if (c.code == in_upper_case(code)) {
      out << c.code << ": " << c.title << "\n" << c.text;
      return kExitDone;
    }
    table.add({c.code, c.title});
    names.push_back(c.code);
  }
  if (!code.empty())
    throw UsageError("belay explain: there is no code '" + escaped(code) + "'" +
                     did_you_mean(in_upper_case(code), names) + "; belay explain lists them");
  out << table.text("") << "\nbelay explain CODE explains one of them\n";
  return kExitDone;
}

Command declare_explain() {
  return {.name = "explain",
          .arguments = "[CODE]",
          .what = "explains the code of an error, or lists all codes",
          .run =
              [](const Given& given) {
                const bool lists = given.arguments().empty();
                return explain_command(lists ? "" : given.argument("code"), std::cout);
              },
          .offers =
              [](std::size_t place, const std::string&, const std::function<PluginSearch()>&) {
                std::vector<std::string> codes;
                for (const ExplainedCode& c : explained_codes(codes_page()))
                  if (place == 0) codes.push_back(c.code);
                return codes;
              }};
}

}  // namespace belay::runtime
