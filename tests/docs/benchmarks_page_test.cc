// SPDX-License-Identifier: Apache-2.0
// docs/design/benchmarks.md against the measures of bench/baseline.json.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/docs/page.h"

namespace belay::runtime {
namespace {

class BenchmarksPage : public ::testing::Test {
 protected:
  static constexpr const char* kReleases = "Beside the peers of other releases";

  // The cells of that column in the tables of measures. Other tables have three columns, or are those of kReleases.
  static std::vector<std::string> column(std::size_t index) {
    std::vector<std::string> cells;
    for (const PageSection& section : sections()) {
      if (section.heading == kReleases) continue;
      for (const Row& row : section.rows)
        if (row.size() > 3) cells.push_back(row[index]);
    }
    return cells;
  }
  static std::vector<PageSection> sections() { return sections_of(read_source("docs/design/benchmarks.md")); }
  const nlohmann::ordered_json baseline_ =
      nlohmann::ordered_json::parse(read_source("bench/baseline.json")).at("measures");
};

TEST_F(BenchmarksPage, T_42c_ListsTheMeasuresInTheirOrder) {
  std::vector<std::string> measures;
  for (const auto& measure : baseline_) measures.push_back(measure.at("what"));
  ASSERT_FALSE(measures.empty());
  EXPECT_THAT(column(0), ::testing::ElementsAreArray(measures));
}

TEST_F(BenchmarksPage, T_42c_TheBoundsAreThoseOfTheCheck) {
  std::vector<std::string> bounds;
  for (const auto& measure : baseline_) {
    std::ostringstream text;
    if (measure.contains("limit")) {
      text << measure["limit"].get<double>() << " " << measure["unit"].get<std::string>();
    } else if (measure.contains("tolerance")) {
      text << measure["tolerance"].get<double>() << " times what it was";
    }
    bounds.push_back(trimmed(text.str()));
  }
  EXPECT_THAT(column(2), ::testing::ElementsAreArray(bounds));
}

}  // namespace
}  // namespace belay::runtime
