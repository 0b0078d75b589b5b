// SPDX-License-Identifier: Apache-2.0
// docs/design/loader.md against the loader's kinds of errors and against the tests that it names.
#include <gmock/gmock.h>

#include <set>

#include "runtime/loader/file/load_error.h"
#include "tests/docs/page.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAreArray;

const std::string kPage = "docs/design/loader.md";

TEST(LoaderPage, ListsEveryKindOfErrorInTheirOrder) {
  std::vector<std::string> kinds;
  for (int i = 0; i <= static_cast<int>(LoadErrorKind::kDuplicate); ++i)
    kinds.emplace_back(kind_name(static_cast<LoadErrorKind>(i)));
  const std::vector<PageSection> sections = sections_of(read_source(kPage));
  const PageSection* section = find_section(sections, "Kinds of errors");
  ASSERT_NE(section, nullptr);
  EXPECT_THAT(first_column(section->rows), ElementsAreArray(kinds));
  EXPECT_STREQ(kind_name(static_cast<LoadErrorKind>(kinds.size())), "unknown") << "a kind comes after `duplicate`";
}

TEST(LoaderPage, EveryTestThatItNamesExists) {
  const std::set<std::string> tests = tests_of_the_sources();
  std::size_t named = 0;
  for (const PageSection& section : sections_of(read_source(kPage))) {
    if (section.rows.empty() || section.heading == "Kinds of errors") continue;
    for (const Row& row : section.rows) {
      ASSERT_EQ(row.size(), 3u) << row.at(0);
      EXPECT_EQ(tests.count(code_of(row[2])), 1u) << "no test " << row[2];
      ++named;
    }
  }
  EXPECT_GT(named, 90u);
}

TEST(LoaderPage, NoCaseIsThereTwice) {
  std::set<std::string> cases;
  for (const PageSection& section : sections_of(read_source(kPage)))
    for (const Row& row : section.rows) EXPECT_TRUE(cases.insert(row.at(0)).second) << row.at(0);
}

}  // namespace
}  // namespace belay::runtime
