// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/program/explain_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "runtime/cli/arguments/command.h"

namespace belay::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string explained(const std::string& code) {
  std::ostringstream out;
  EXPECT_EQ(explain_command(code, out), 0);
  return out.str();
}

TEST(ExplainCommand, PrintsTheSectionOfACode) {
  const std::string section = explained("B1003");
  EXPECT_THAT(section, StartsWith("B1003: an unknown key\n\n"));
  EXPECT_THAT(section, HasSubstr("\n    train.toml:3:1: error[B1003]: unknown key \"max_step\" in [run]\n"));
  EXPECT_THAT(section, HasSubstr("\nFix: "));
  EXPECT_THAT(section, Not(HasSubstr("B1004")));
  EXPECT_THAT(section, Not(HasSubstr("\n\n\n")));
  for (const char* given : {"b1003", "[B1003]", "error[B1003]", "error[B1003]: unknown key"})
    EXPECT_EQ(explained(given), section);
}

TEST(ExplainCommand, ListsAllCodes) {
  std::ostringstream out;
  EXPECT_EQ(list_codes(out), 0);
  EXPECT_THAT(out.str(), HasSubstr("\nB1003  an unknown key\n"));
  EXPECT_THAT(out.str(), HasSubstr("\nB2030  an unknown option\n"));
}

TEST(ExplainCommand, TheLastSectionOfAPartEndsBeforeTheNextPart) {
  const auto all = explained_codes("# Codes\n\n## One\n\n### B1001: a\n\nText.\n\n## Two\n\n### B2001: b\n\nMore.\n");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].text, "\nText.\n");
  EXPECT_EQ(all[1].title, "b");
  EXPECT_EQ(all[1].text, "\nMore.\n");
}

TEST(ExplainCommand, AnEmptyCodeIsRefused) {
  std::ostringstream out;
  EXPECT_THROW(explain_command("", out), UsageError);
}

TEST(ExplainCommand, AnUnknownCodeNamesTheNearest) {
  std::ostringstream out;
  try {
    explain_command("B103", out);
    FAIL() << "B103 was explained";
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("there is no code 'B103' (did you mean \"B1"));
    EXPECT_THAT(e.what(), HasSubstr("belay explain lists them"));
  }
}

}  // namespace
}  // namespace belay::runtime
