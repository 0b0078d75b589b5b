// SPDX-License-Identifier: Apache-2.0
// docs/design/boundary.md against the measures of bench/baseline.json.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/docs/page.h"

namespace belay::runtime {
namespace {

TEST(BoundaryPage, ItsCostsAreHeldToTheLimitsThatItNames) {
  const auto baseline = nlohmann::json::parse(read_source("bench/baseline.json")).at("measures");
  const std::vector<PageSection> sections = sections_of(read_source("docs/design/boundary.md"));
  const PageSection* cost = find_section(sections, "What it costs");
  ASSERT_NE(cost, nullptr);
  int measures = 0;
  for (const Row& row : cost->rows) {
    const std::string measure = code_of(row.at(0));
    if (row.size() < 4) continue;  // the table of lines
    ASSERT_TRUE(baseline.contains(measure)) << measure;
    EXPECT_EQ(std::stod(row.at(3)), baseline[measure]["limit"].get<double>()) << measure;
    EXPECT_LE(std::stod(row.at(2)), std::stod(row.at(3))) << measure;
    ++measures;
  }
  EXPECT_EQ(measures, 3);
}

}  // namespace
}  // namespace belay::runtime
