// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/program/explain_command.h"

#include <fmt/core.h>

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

// Returns "B1003" of "b1003", of "[B1003]" and of "error[B1003]: unknown key", as a user copies it.
std::string code_in(const std::string& given) {
  const std::size_t begin = given.find('['), end = given.find(']', begin);
  if (begin == given.npos || end == given.npos) return in_upper_case(given);
  return in_upper_case(given.substr(begin + 1, end - begin - 1));
}

}  // namespace

std::vector<ExplainedCode> explained_codes(const std::string& page) {
  std::vector<ExplainedCode> all;
  for (std::size_t at = page.find(kSectionMark); at != page.npos; at = page.find(kSectionMark, at + 1)) {
    const std::size_t begin = at + kSectionMark.size(), line = page.find('\n', begin), colon = page.find(": ", begin);
    const std::size_t end = std::min(page.find(kSectionMark, line), page.find("\n## ", line));
    all.push_back({page.substr(begin, colon - begin), page.substr(colon + 2, line - colon - 2),
                   page.substr(line + 1, end == page.npos ? end : end - line - 1)});
  }
  return all;
}

int explain_command(const std::string& given, std::ostream& out) {
  const std::string code = code_in(given);
  std::vector<std::string> names;
  for (const ExplainedCode& c : explained_codes(codes_page())) {
    if (c.code == code) {
      out << c.code << ": " << c.title << "\n" << c.text;
      return kExitDone;
    }
    names.push_back(c.code);
  }
  throw UsageError(fmt::format("[B5005] belay explain: there is no code '{}'{}; belay explain lists them",
                               escaped(given), did_you_mean(code, names)));
}

int list_codes(std::ostream& out) {
  TextTable table;
  for (const ExplainedCode& c : explained_codes(codes_page())) table.add({c.code, c.title});
  out << table.text("") << "\nbelay explain CODE explains one of them\n";
  return kExitDone;
}

Command declare_explain() {
  return {.name = "explain",
          .arguments = "[CODE]",
          .what = "explains the code of an error, or lists all codes",
          .run =
              [](const Given& given) {
                return given.arguments().empty() ? list_codes(std::cout)
                                                 : explain_command(given.argument("code"), std::cout);
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
