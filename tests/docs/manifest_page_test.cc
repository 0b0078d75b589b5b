// SPDX-License-Identifier: Apache-2.0
// docs/reference/manifest.md against the declarations of the keys.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "runtime/manifest/parse.h"
#include "runtime/manifest/sections.h"
#include "runtime/manifest/show.h"
#include "tests/docs/page.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAreArray;
using ::testing::UnorderedElementsAreArray;

class ManifestPage : public ::testing::Test {
 protected:
  const PageSection& section(const std::string& heading) const {
    const PageSection* found = find_section(sections_, heading);
    if (found == nullptr) throw std::runtime_error("docs/reference/manifest.md has no heading " + heading);
    return *found;
  }
  const std::vector<PageSection> sections_ = sections_of(read_source("docs/reference/manifest.md"));
};

// "key" -> "value" of `key = value` lines, "not set: ..." of those that tell why there is none. Members of a table in
// one line have the table's name before theirs.
void add_shown(const Manifest& manifest, std::map<std::string, std::string>& values) {
  std::istringstream lines(effective_manifest(manifest));
  std::string section;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind('[', 0) == 0) {
      section = line.substr(line.find_first_not_of('['), line.find(']') - line.find_first_not_of('['));
    } else if (line.rfind("# ", 0) == 0) {
      const std::string unset = ": not set, ";
      const std::size_t at = line.find(unset);
      values[section + "." + line.substr(2, at - 2)] = "not set: " + line.substr(at + unset.size());
    } else if (const std::size_t equals = line.find(" = "); equals != line.npos) {
      const std::string key = section + "." + line.substr(0, equals), value = line.substr(equals + 3);
      const std::size_t brackets = value.rfind("[{ ", 0) == 0 ? 1 : 0;  // the one element of a list
      if (value.compare(brackets, 2, "{ ") != 0) {
        values[key] = value;
        continue;
      }
      std::istringstream members(value.substr(2 + brackets, value.size() - 4 - 2 * brackets));
      for (std::string member; std::getline(members, member, ',');) {
        const std::size_t middle = member.find(" = ");
        values[key + "." + trimmed(member.substr(0, middle))] = member.substr(middle + 3);
      }
    }
  }
}

// All defaults, of every kind of metric.
std::map<std::string, std::string> shown_defaults() {
  std::map<std::string, std::string> values;
  Manifest scheduled;
  scheduled.optimizer.learning_rate.schedule = "constant";
  scheduled.optimizer.groups.emplace_back();
  add_shown(scheduled, values);
  for (const char* kind : {"auc", "in_top_k"}) {
    Manifest manifest;
    manifest.metrics.emplace_back().kind = kind;
    add_shown(manifest, values);
  }
  Manifest manifest;
  manifest.inputs["train"].plugin = "x";
  manifest.hooks.emplace_back().plugin = "x";
  manifest.cluster.emplace().plugin = "x";
  add_shown(manifest, values);
  return values;
}

std::string without_backticks(std::string text) {
  std::erase(text, '`');
  return text;
}

TEST_F(ManifestPage, ListsTheSectionsInTheirOrder) {
  EXPECT_THAT(first_column(section("The manifest").rows), ElementsAreArray(manifest_keys().front().keys));
}

TEST_F(ManifestPage, EachSectionsTableHasItsKeysInTheirOrder) {
  for (const SectionKeys& keys : manifest_keys()) {
    if (keys.section.empty()) continue;
    std::vector<Row> rows = section("`" + section_header(keys.section) + "`").rows;
    std::erase_if(rows, [](const Row& row) { return row.size() < 4; });  // of tables that are no list of keys
    EXPECT_THAT(first_column(rows), ElementsAreArray(keys.keys)) << keys.section;
  }
}

TEST_F(ManifestPage, TheTableOfPluginKeysHasThoseOfEveryKind) {
  std::vector<std::string> keys = reserved_keys(PluginTable::kHook);
  for (const PluginTable table : {PluginTable::kInput, PluginTable::kCluster})
    for (const std::string& key : reserved_keys(table))
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  EXPECT_THAT(first_column(section("Tables that name a plugin").rows), UnorderedElementsAreArray(keys));
}

TEST_F(ManifestPage, TheDefaultsAreThoseThatShowPrints) {
  std::map<std::string, std::string> defaults = shown_defaults();
  defaults["optimizer.learning_rate.schedule"] = "needed";
  defaults["metrics.kind"] = "needed";
  defaults["optimizer.groups.vars"] = "needed";
  // Not told inside a table that is written in one line.
  defaults["optimizer.learning_rate.file"] = "not set: found by its name";
  defaults["optimizer.learning_rate.learning_rate"] = "0.001";
  defaults["optimizer.groups.clip_norm"] = "not set: as in [optimizer]";
  // Needed by some kinds, not there for the others.
  for (const char* key : {"labels", "predictions", "values", "classes"})
    defaults["metrics." + std::string(key)] = "needed where there is one";
  for (const SectionKeys& keys : manifest_keys()) {
    if (keys.section.empty() || keys.section == "scaffold") continue;  // show prints what the manifest has of it
    for (const Row& row : section("`" + section_header(keys.section) + "`").rows) {
      if (row.size() < 4) continue;
      const std::string key = keys.section + "." + code_of(row.at(0));
      ASSERT_TRUE(defaults.count(key)) << key;
      EXPECT_EQ(without_backticks(row[2]), defaults[key]) << key;
    }
  }
}

TEST_F(ManifestPage, TheDefaultsOfPluginKeysAreThoseThatShowPrints) {
  const std::map<std::string, std::string> defaults = shown_defaults();
  const std::map<std::string, std::string> shown_as = {{"on_error", "hooks.on_error"},
                                                       {"prefetch", "input.train.prefetch"},
                                                       {"max_wait_secs", "cluster.max_wait_secs"},
                                                       {"timeout_secs", "cluster.timeout_secs"},
                                                       {"wire", "cluster.wire"},
                                                       {"bucket_mib", "cluster.bucket_mib"},
                                                       {"on_lost_rank", "cluster.on_lost_rank"}};
  for (const Row& row : section("Tables that name a plugin").rows) {
    const auto key = shown_as.find(code_of(row.at(0)));
    if (key == shown_as.end()) continue;
    EXPECT_EQ(code_of(row.at(2)), defaults.at(key->second)) << key->first;
  }
}

}  // namespace
}  // namespace belay::runtime
