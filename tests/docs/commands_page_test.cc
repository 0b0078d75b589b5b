// SPDX-License-Identifier: Apache-2.0
// docs/reference/commands.md against the command line and the exit statuses.
#include <gmock/gmock.h>

#include <regex>
#include <set>
#include <stdexcept>

#include "runtime/cli/arguments/command_line.h"
#include "tests/docs/page.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAreArray;

class CommandsPage : public ::testing::Test {
 protected:
  // The section of a command: "`belay run MANIFEST.toml`".
  const PageSection& section_of(const std::string& command) const {
    for (const PageSection& s : sections_)
      if (s.heading.rfind("`belay " + command, 0) == 0) return s;
    throw std::runtime_error("docs/reference/commands.md has no heading for " + command);
  }
  const std::vector<PageSection> sections_ = sections_of(read_source("docs/reference/commands.md"));
};

std::set<std::string> options_in(const std::string& text) {
  static const std::regex option("--[a-z][a-z-]*");
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), option), end; it != end; ++it) found.insert(it->str());
  return found;
}

TEST_F(CommandsPage, ListsTheCommandsInTheirOrder) {
  EXPECT_THAT(first_column(sections_.front().rows), ElementsAreArray(command_names()));
}

TEST_F(CommandsPage, EachCommandsHeadingIsItsUsage) {
  for (const Command& c : commands()) {
    const std::string usage = "belay " + c.name + (c.arguments.empty() ? "" : " ") + c.arguments;
    EXPECT_EQ(section_of(c.name).heading, "`" + usage + "`");
  }
}

TEST_F(CommandsPage, EachSectionNamesTheCommandsOptionsAndNoOthers) {
  for (const Command& c : commands()) {
    std::set<std::string> options = options_in(help_text(c));
    options.erase("--help");
    EXPECT_EQ(options_in(section_of(c.name).text), options) << c.name;
  }
}

TEST_F(CommandsPage, ListsTheExitStatusesOfTheHeader) {
  // Those of a run, then those of the command alone.
  const std::string header =
      read_source("runtime/include/belay/runtime/run.h") + read_source("runtime/cli/arguments/exit_status.h");
  static const std::regex status("k(?:Exit)?([A-Za-z]+) = ([0-9]+)");
  std::vector<std::string> expected, documented;
  for (std::sregex_iterator it(header.begin(), header.end(), status), end; it != end; ++it)
    expected.push_back(it->str(2) + " kExit" + it->str(1));
  ASSERT_GE(expected.size(), 9u);
  const PageSection* table = find_section(sections_, "Exit statuses");
  ASSERT_NE(table, nullptr);
  for (const Row& row : table->rows) documented.push_back(row.at(0) + " " + code_of(row.at(1)));
  EXPECT_THAT(documented, ElementsAreArray(expected));
}

}  // namespace
}  // namespace belay::runtime
