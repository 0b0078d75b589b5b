// SPDX-License-Identifier: Apache-2.0
// manifest_keys and reserved_keys of runtime/manifest/parse.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "belay/module.h"
#include "runtime/manifest/sections.h"
#include "tests/manifest/parsed.h"

namespace belay::runtime {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ListFields, EverySectionIsThere) {
  std::vector<std::string> sections;
  for (const SectionKeys& section : manifest_keys()) sections.push_back(section.section);
  EXPECT_THAT(sections, ElementsAre("", "run", "plugins", "optimizer", "optimizer.learning_rate", "optimizer.groups",
                                    "scaffold", "checkpoint", "eval", "predict", "session", "metrics"));
}

TEST(ListFields, KeysStandInTheOrderOfTheManual) {
  EXPECT_THAT(manifest_keys()[1].keys,
              ElementsAre("mode", "checkpoint", "dir", "max_steps", "min_steps", "seed", "threads"));
}

TEST(ListFields, KeysThatAreOneOfSomeWordsHaveThem) {
  std::map<std::string, std::map<std::string, std::vector<std::string>>> choices;
  for (const SectionKeys& section : manifest_keys()) choices[section.section] = section.choices;
  EXPECT_THAT(choices["session"], ElementsAre(Pair("precision", ElementsAre("float32", "bf16"))));
  EXPECT_THAT(choices["optimizer"], ElementsAre());
  EXPECT_THAT(choices["checkpoint"], Contains(Pair("save_on_exception", ElementsAre("true", "false"))));
}

TEST(ListFields, PluginsTablesReserveKeys) {
  EXPECT_THAT(reserved_keys(PluginTable::kModel), ElementsAre("plugin", "file", "name", "on_error"));
  EXPECT_THAT(reserved_keys(PluginTable::kHook), ElementsAre("plugin", "file", "name", "on_error"));
  EXPECT_THAT(reserved_keys(PluginTable::kInput), ElementsAre("plugin", "file", "name", "on_error", "prefetch"));
  EXPECT_THAT(reserved_keys(PluginTable::kCluster),
              ElementsAre("plugin", "file", "name", "on_error", "max_wait_secs", "timeout_secs", "wire", "bucket_mib",
                          "on_lost_rank", "min_ranks"));
}

TEST(ListFields, T_29c_NoOptionOfAPluginMayHaveTheNameOfAReservedKey) {
  for (const std::string& key : reserved_keys(PluginTable::kHook))
    EXPECT_TRUE(detail::is_reserved_option("hook", key)) << key;
  for (const std::string& key : reserved_keys(PluginTable::kInput))
    EXPECT_TRUE(detail::is_reserved_option("input", key)) << key;
  for (const std::string& key : reserved_keys(PluginTable::kCluster))
    EXPECT_TRUE(detail::is_reserved_option("cluster", key)) << key;
  EXPECT_FALSE(detail::is_reserved_option("hook", "prefetch"));
}

// One letter dropped, doubled, replaced or swapped with its neighbour, at each place of the name.
std::vector<std::string> misspellings(const std::string& name) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < name.size(); ++i) {
    std::string dropped = name, doubled = name, replaced = name, swapped = name;
    if (name.size() > 2) all.push_back(dropped.erase(i, 1));
    all.push_back(doubled.insert(i, 1, name[i]));
    replaced[i] = 'x';
    all.push_back(replaced);
    if (i + 1 < name.size() && name[i] != name[i + 1]) {
      std::swap(swapped[i], swapped[i + 1]);
      all.push_back(swapped);
    }
  }
  return all;
}

TEST(ListFields, MisspeltKeysAndSectionsAreRecognised) {
  int tried = 0, right = 0;
  const auto expect = [&](const std::string& errors, const std::string& help) {
    ++tried;
    right += errors.find("  help: did you mean " + help + "?\n") != std::string::npos;
  };
  for (const SectionKeys& section : manifest_keys()) {
    // A misspelt key of these is taken for a plugin's option, which the loader checks.
    if (section.section.rfind("optimizer", 0) == 0) continue;
    for (const std::string& key : section.keys) {
      for (const std::string& misspelt : misspellings(key)) {
        if (section.section.empty()) {
          expect(errors_of("[" + misspelt + "]\n"), section_header(key));
        } else {
          expect(errors_of(section_header(section.section) + "\n" + misspelt + " = 0"), "\"" + key + "\"");
        }
      }
    }
  }
  for (const std::string& misspelt : misspellings("plugin"))
    expect(parsed("[model]\n" + misspelt + " = 'mlp'").errors, "\"plugin\" instead of \"" + misspelt + "\"");
  EXPECT_GT(tried, 1000);
  EXPECT_GE(right, tried * 95 / 100) << right << " of " << tried;
  RecordProperty("tried", tried);
  RecordProperty("right", right);
}

}  // namespace
}  // namespace belay::runtime
