// SPDX-License-Identifier: Apache-2.0
// docs/guide/coming-from-keras-lightning.md: a name of another program leads to the answer on the page, and each key
// that such a name leads to is on the page.
#include <gmock/gmock.h>

#include <functional>

#include "runtime/manifest/other_names.h"
#include "tests/docs/page.h"

namespace belay::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// All that is between backticks.
std::vector<std::string> codes_of(const std::string& cell) {
  std::vector<std::string> codes;
  for (std::size_t at = cell.find('`'); at != cell.npos; at = cell.find('`', at)) {
    const std::size_t end = cell.find('`', at + 1);
    codes.push_back(cell.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return codes;
}

std::vector<Row> rows_below(const std::string& heading) {
  static const std::vector<PageSection> sections =
      sections_of(read_source("docs/guide/coming-from-keras-lightning.md"));
  const PageSection* section = find_section(sections, heading);
  EXPECT_NE(section, nullptr) << heading;
  return section == nullptr ? std::vector<Row>() : section->rows;
}

std::vector<std::string> plugins_of(const std::string& kind) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(BELAY_SOURCE_DIR "/plugins/" + kind + "s"))
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  return names;
}

void expect_that_each_leads_there(const std::vector<Row>& rows,
                                  const std::function<std::string(const std::string& name)>& help_for) {
  EXPECT_GE(rows.size(), 5u);
  for (const Row& row : rows) {
    ASSERT_THAT(row, SizeIs(2));
    for (const std::string& name : codes_of(row[0]))
      for (const std::string& code : codes_of(row[1])) EXPECT_THAT(help_for(name), HasSubstr(code)) << name;
  }
}

TEST(OtherNamesPage, EachKeyLeadsToWhatThePageSays) {
  expect_that_each_leads_there(rows_below("Names of keys"),
                               [](const std::string& name) { return help_for_other_key(name); });
}

TEST(OtherNamesPage, EachCallbackLeadsToWhatThePageSays) {
  const std::vector<std::string> hooks = plugins_of("hook");
  expect_that_each_leads_there(rows_below("Names of callbacks"),
                               [&](const std::string& name) { return help_for_other_plugin("hook", name, hooks); });
}

TEST(OtherNamesPage, EachScheduleLeadsToWhatThePageSays) {
  const std::vector<std::string> schedules = plugins_of("schedule");
  expect_that_each_leads_there(rows_below("Names of schedules"), [&](const std::string& name) {
    return help_for_other_plugin("schedule", name, schedules);
  });
}

TEST(OtherNamesPage, EachKeyThatANameLeadsToIsOnThePage) {
  std::set<std::string> shown;
  for (const Row& row : rows_below("Names of keys")) {
    const std::vector<std::string> codes = codes_of(row.at(1));
    ASSERT_FALSE(codes.empty());
    shown.insert(codes[0] + (codes.size() > 1 ? " " + codes[1] : ""));
    shown.insert(codes[0]);
  }
  for (const OtherName& other : other_names()) {
    if (*other.kind != '\0' || *other.section == '\0') continue;
    const std::string section = other.section, key = other.key;
    const std::string header = section == "hooks" ? "[[hooks]]" : "[" + section + "]";
    const std::string wanted = key.empty() || section == "hooks" ? header : header + " " + key;
    EXPECT_TRUE(shown.count(wanted) == 1) << wanted << ", for " << other.names;
  }
}

}  // namespace
}  // namespace belay::runtime
