// SPDX-License-Identifier: Apache-2.0
// docs/reference/coverage.md against the tree, both ways.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/docs/page.h"

namespace belay::runtime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAreArray;

class CoveragePage : public ::testing::Test {
 protected:
  // Rows whose first cell begins with this; "" for the hooks' numbers.
  std::vector<Row> rows(const std::string& prefix) const {
    std::vector<Row> found;
    for (const PageSection& section : sections_)
      for (const Row& row : section.rows)
        if (section.heading != kResumed && (row.at(0).rfind('U', 0) == 0) == (prefix == "U")) found.push_back(row);
    return found;
  }
  // The rows of each hook over a resume.
  std::vector<Row> resumed() const {
    const auto section =
        std::find_if(sections_.begin(), sections_.end(), [](const PageSection& s) { return s.heading == kResumed; });
    return section == sections_.end() ? std::vector<Row>() : section->rows;
  }
  static std::vector<std::string> numbers(const std::vector<Row>& rows) {
    std::vector<std::string> numbers;
    for (const Row& row : rows) numbers.push_back(row.at(0));
    return numbers;
  }
  static std::vector<std::string> counted(const std::string& prefix, int last) {
    std::vector<std::string> numbers;
    for (int i = 1; i <= last; ++i) numbers.push_back(prefix + std::to_string(i));
    return numbers;
  }
  // Those of both tables; the last two cells are test and state.
  std::vector<Row> all() const {
    std::vector<Row> found = rows("");
    for (Row& row : rows("U")) found.push_back(row);
    return found;
  }

  static constexpr const char* kResumed = "Over a resume";
  const std::string page_ = read_source("docs/reference/coverage.md");
  const std::vector<PageSection> sections_ = sections_of(page_);
};

TEST_F(CoveragePage, HasEveryRowOfBothTables) {
  EXPECT_THAT(numbers(rows("")), ElementsAreArray(counted("", 87)));
  EXPECT_THAT(numbers(rows("U")), ElementsAreArray(counted("U", 36)));
}

TEST_F(CoveragePage, EveryTestThatItNamesExists) {
  const std::set<std::string> tests = tests_of_the_sources();
  static const std::regex code("`([^`]+)`");
  for (const Row& row : all()) {
    const std::string& cell = row.at(row.size() - 2);
    for (std::sregex_iterator it(cell.begin(), cell.end(), code), end; it != end; ++it)
      EXPECT_EQ(tests.count((*it)[1].str()), 1u) << row.at(0) << ": there is no " << (*it)[1].str();
  }
  for (const Row& row : resumed()) EXPECT_EQ(tests.count(code_of(row.at(1))), 1u) << row.at(0) << row.at(1);
}

// The page of the hooks lists which of them keep a state.
TEST_F(CoveragePage, EachHookWithAStateHasATestOverAResume) {
  std::set<std::string> with_test;
  for (const Row& row : resumed()) EXPECT_TRUE(with_test.insert(code_of(row.at(0))).second) << row.at(0);
  int with_state = 0;
  for (const PageSection& hook : sections_of(read_source("docs/reference/hooks.md"))) {
    const std::size_t state = hook.text.find("State:");
    if (state == std::string::npos || hook.text.find("none", state) == state + 7) continue;
    ++with_state;
    EXPECT_THAT(with_test, Contains(code_of(hook.heading)));
  }
  EXPECT_GT(with_state, 20);
}

TEST_F(CoveragePage, WhatIsDoneNamesItsTestAndWhereItIs) {
  for (const Row& row : all()) {
    const std::string& state = row.back();
    if (state != "done") {
      EXPECT_TRUE(state.rfind("open", 0) == 0 || state == "not for us") << row.at(0) << ": " << state;
      continue;
    }
    EXPECT_NE(code_of(row.at(row.size() - 2)), "") << row.at(0);
    EXPECT_NE(row.at(row.size() - 3), "") << row.at(0);
  }
}

// "hook `NAME`" and "hooks `NAME` (...) and `NAME`" name plugins; every plugin is named somewhere.
TEST_F(CoveragePage, NamesTheHooksThatThereAreAndNoOthers) {
  std::set<std::string> there;
  for (const auto& entry : std::filesystem::directory_iterator(BELAY_SOURCE_DIR "/plugins/hooks"))
    if (entry.is_directory()) there.insert(entry.path().filename());
  ASSERT_FALSE(there.empty());
  for (const std::string& hook : there) EXPECT_NE(page_.find("`" + hook + "`"), page_.npos) << hook;
  static const std::regex named("hooks? `([a-z_]+)`");
  for (std::sregex_iterator it(page_.begin(), page_.end(), named), end; it != end; ++it)
    EXPECT_THAT(there, Contains((*it)[1].str()));
}

}  // namespace
}  // namespace belay::runtime
