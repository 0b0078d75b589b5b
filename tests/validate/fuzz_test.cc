// SPDX-License-Identifier: Apache-2.0
// `belay validate --fuzz`: what it finds, and that it finds it again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "runtime/validate/fuzz.h"
#include "runtime/validate/fuzz_run.h"
#include "runtime/validate/validate.h"

namespace belay::runtime {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// The results of the cases for each plugin of the library: `hook "sturdy"` -> "passed: 12 cases of seed 42".
std::map<std::string, std::string> fuzzed(const ValidateOptions& options) {
  std::map<std::string, std::string> found;
  validate(BELAY_FRAGILE, options, [&](const CheckResult& r) {
    if (r.check == "fuzz.cases") found[r.plugin] = std::string(verdict_name(r.verdict)) + ": " + r.text;
  });
  return found;
}

std::string case_of(const std::string& finding) {
  const std::string before = "failed: case ";
  return finding.substr(before.size(), finding.find(':', before.size()) - before.size());
}

// All that the cases do with a plugin is of their seed and number, but for the time that they take.
TEST(Fuzz, WhatOnlyRandomCasesFindIsFoundAndFoundAgainByItsNumber) {
  const std::map<std::string, std::string> expected = {
      {"hook \"trusts_its_state\"", "load_state"},
      {"hook \"trusts_its_shapes\"", "a step"},
      {"input \"trusts_positions\"", "seek to {"},
      {"saver \"trusts_files\"", "read"},
  };
  // So long only where nothing is found.
  const std::map<std::string, std::string> found = fuzzed({.seconds = 1, .fuzz_seconds = 20});
  for (const auto& [plugin, last] : expected) {
    ASSERT_EQ(found.count(plugin), 1u) << plugin;
    const std::string& finding = found.at(plugin);
    EXPECT_THAT(finding, StartsWith("failed: case ")) << plugin;
    EXPECT_THAT(finding, AnyOf(HasSubstr("crashed with signal "), HasSubstr("ended the process with status ")))
        << plugin;
    const std::size_t did = finding.find("\nwhat it did: "), alone = finding.find("\nthat case alone: ");
    ASSERT_NE(did, finding.npos) << finding;
    ASSERT_NE(alone, finding.npos) << finding;
    EXPECT_THAT(finding.substr(did, alone - did), HasSubstr(last)) << plugin;
    EXPECT_THAT(finding.substr(alone), StartsWith("\nthat case alone: belay validate " BELAY_FRAGILE " --fuzz-case " +
                                                  case_of(finding) + " --seed 42"));
    // A sanitizer's report of a crash is not the same twice.
    const std::string again = fuzzed({.seconds = 1, .fuzz_case = std::stoull(case_of(finding))}).at(plugin);
    EXPECT_EQ(again.substr(std::min(again.find("\nwhat it did: "), again.size())), finding.substr(did)) << again;
  }
  EXPECT_THAT(found.at("hook \"sturdy\""), StartsWith("passed: "));
  const std::string& hangs = found.at("hook \"waits_for_a_step\"");
  EXPECT_THAT(hangs, HasSubstr("did not end within ")) << hangs;
  EXPECT_THAT(hangs, HasSubstr("the global step is ")) << hangs;
}

TEST(Fuzz, ACaseAloneRunsNoChecks) {
  std::vector<std::string> checks;
  validate(BELAY_FRAGILE, {.fuzz_case = 0}, [&](const CheckResult& r) {
    if (r.plugin == "hook \"sturdy\"") checks.push_back(r.check + ": " + r.text);
  });
  EXPECT_EQ(checks, std::vector<std::string>{"fuzz.cases: case 0 of seed 42"});
}

TEST(Fuzz, WithoutItThereAreNoCases) { EXPECT_TRUE(fuzzed({}).empty()); }

TEST(Fuzz, ACaseIsAFunctionOfSeedAndNumber) {
  const auto drawn = [](std::uint64_t seed, std::uint64_t number) {
    FuzzCase fuzz(seed, number, [](const std::string&) {});
    std::string all = fuzz.text() + std::to_string(fuzz.integer()) + fuzz.damaged("bytes of a file");
    for (const std::int64_t d : fuzz.dims()) all += "," + std::to_string(d);
    return all;
  };
  for (std::uint64_t number = 0; number < 20; ++number) EXPECT_EQ(drawn(1, number), drawn(1, number));
  EXPECT_NE(drawn(1, 0) + drawn(1, 1), drawn(2, 0) + drawn(2, 1));
}

TEST(Fuzz, TheEndOfALongCaseIsKept) {
  FuzzLog log;
  log.begin_case(7);
  log.note("begin");
  EXPECT_EQ(log.notes(), "begin");
  for (int i = 0; i < 1000; ++i) log.note("step " + std::to_string(i));
  EXPECT_EQ(log.number(), 7u);
  EXPECT_THAT(log.notes(), StartsWith("... "));
  EXPECT_THAT(log.notes(), HasSubstr("; step 998; step 999"));
  log.begin_case(8);
  EXPECT_EQ(log.notes(), "");
}

}  // namespace
}  // namespace belay::runtime
