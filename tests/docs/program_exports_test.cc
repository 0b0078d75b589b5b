// SPDX-License-Identifier: Apache-2.0
// docs/design/abi.md against the symbols that the program exports.
#include <gmock/gmock.h>

#include <cstdio>
#include <set>
#include <sstream>

#include "tests/docs/page.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAreArray;

// Returns the symbols of nm without a version. A symbol with a version is a library's.
std::set<std::string> exported_symbols() {
  std::FILE* pipe = ::popen("nm -D -C --defined-only '" BELAY_PROGRAM "'", "r");
  if (pipe == nullptr) return {};
  std::string listed;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) listed += static_cast<char>(c);
  EXPECT_EQ(::pclose(pipe), 0) << listed;
  std::set<std::string> symbols;
  std::istringstream lines(listed);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(line.find(' ', line.find(' ') + 1) + 1);
    if (name.find('@') == std::string::npos) symbols.insert(name);
  }
  return symbols;
}

TEST(ProgramExports, T_149_AreThoseThatThePageLists) {
  const std::vector<PageSection> sections = sections_of(read_source("docs/design/abi.md"));
  const PageSection* section = find_section(sections, "What the program exports");
  ASSERT_NE(section, nullptr);
  std::set<std::string> listed;
  for (const Row& row : section->rows) {
    std::istringstream names(row.at(0));
    for (std::string name; names >> name;) {
      std::erase_if(name, [](char c) { return c == '`' || c == ','; });
      listed.insert(name);
    }
  }
  EXPECT_THAT(exported_symbols(), ElementsAreArray(listed));
}

}  // namespace
}  // namespace belay::runtime
