// SPDX-License-Identifier: Apache-2.0
// docs/reference/dev.md against the script that it describes.
#include <gmock/gmock.h>

#include <regex>

#include "tests/docs/page.h"

namespace belay::runtime {
namespace {

std::set<std::string> found_in(const std::string& text, const char* pattern) {
  const std::regex command(pattern);
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), command), end; it != end; ++it) names.insert(it->str(1));
  return names;
}

TEST(DevPage, ListsTheCommandsOfTheScriptAndOfItsHelp) {
  const std::string script = read_source("dev");
  const std::size_t cases = script.find("case $command in");
  ASSERT_NE(cases, script.npos);
  const std::set<std::string> commands = found_in(script.substr(cases), "\n  ([a-z]+)\\)");
  ASSERT_GE(commands.size(), 15u);
  EXPECT_EQ(found_in(read_source("docs/reference/dev.md"), "\n\\| `\\./dev ([a-z]+)"), commands);
  EXPECT_EQ(found_in(script.substr(0, cases), "\n#   \\./dev ([a-z]+)"), commands);
}

}  // namespace
}  // namespace belay::runtime
