// SPDX-License-Identifier: Apache-2.0
// docs/design/loader.md against the loader's kinds of errors and against the tests that it names.
#include <gmock/gmock.h>

#include <filesystem>
#include <regex>
#include <set>

#include "runtime/loader/load_error.h"
#include "tests/docs/page.h"

namespace belay::runtime {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAreArray;

const std::string kPage = "docs/design/loader.md";

// "Suite.Name" of every test in the sources.
std::set<std::string> tests_of_the_sources() {
  static const std::regex test("TEST(?:_F|_P)?\\(([A-Za-z0-9_]+),\\s*([A-Za-z0-9_]+)\\)");
  std::set<std::string> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(BELAY_SOURCE_DIR "/tests")) {
    if (entry.path().extension() != ".cc") continue;
    const std::string text = read_source(fs::relative(entry.path(), BELAY_SOURCE_DIR).string());
    for (std::sregex_iterator it(text.begin(), text.end(), test), end; it != end; ++it)
      found.insert((*it)[1].str() + "." + (*it)[2].str());
  }
  return found;
}

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
