// SPDX-License-Identifier: Apache-2.0
// docs/design/faults.md against the tests that it names.
#include "tests/docs/page.h"

namespace belay::runtime {
namespace {

TEST(FaultsPage, EveryTestThatItNamesExists) {
  const std::set<std::string> tests = tests_of_the_sources();
  static const std::regex code("`([A-Za-z0-9_]+\\.[A-Za-z0-9_]+)`");
  std::set<std::string> faults;
  for (const PageSection& section : sections_of(read_source("docs/design/faults.md")))
    for (const Row& row : section.rows) {
      ASSERT_EQ(row.size(), 4u) << row.at(0);
      EXPECT_TRUE(faults.insert(row[0]).second) << row[0] << " is there twice";
      int named = 0;
      for (std::sregex_iterator it(row[3].begin(), row[3].end(), code), end; it != end; ++it, ++named)
        EXPECT_EQ(tests.count((*it)[1].str()), 1u) << "no test " << (*it)[1].str();
      EXPECT_TRUE(named != 0 || row[3].rfind("none: ", 0) == 0) << row[0];
    }
  EXPECT_GE(faults.size(), 25u);
}

}  // namespace
}  // namespace belay::runtime
