// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/arguments/name_pattern.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "belay/testing/error_of.h"
#include "runtime/cli/arguments/command.h"

namespace belay::runtime {
namespace {

bool matches(const std::string& pattern, const std::string& name) {
  return NamePattern("--only", pattern).matches(name);
}

std::string refusal(const std::string& pattern) {
  try {
    NamePattern("--only", pattern);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(NamePattern, MatchesFromTheStartOfANameAndNotToItsEnd) {
  EXPECT_TRUE(matches("", "dense/kernel"));
  EXPECT_TRUE(matches("dense", "dense/kernel"));
  EXPECT_TRUE(matches(".*/kernel$", "dense/kernel"));
  EXPECT_TRUE(matches("[[:alpha:]]+\\/k", "dense/kernel"));
  EXPECT_FALSE(matches("kernel", "dense/kernel"));
  EXPECT_FALSE(matches("dense$", "dense/kernel"));
  EXPECT_TRUE(matches("gr[öü].e$", "größe")) << "a character is one of UTF-8";
}

TEST(NamePattern, NamesTheOptionOfAPatternThatItCannotUse) {
  EXPECT_EQ(refusal("(["), "[B5004] --only is \"([\", which is no regular expression: missing ]: [");
  EXPECT_EQ(refusal("(?!a)b"),
            "[B5004] --only is \"(?!a)b\", which is no regular expression: invalid perl operator: (?!");
  EXPECT_EQ(refusal("(a)\\1"),
            "[B5004] --only is \"(a)\\1\", which is no regular expression: invalid escape sequence: \\1");
  EXPECT_NE(refusal("\xff"), "");
}

TEST(NamePattern, T_128_ANameThatIsNotMatchedIsSaidWithThoseThatThereAre) {
  const auto said = [](const std::string& pattern, const std::vector<std::string>& names) {
    return belay::testing::error_of([&] { NamePattern("--only", pattern).fail_unmatched("tensor", names); });
  };
  EXPECT_EQ(
      said("dense/kernl", {"dense/bias", "dense/kernel"}),
      "NOT_FOUND: [B5005] --only: no tensor is matched by 'dense/kernl' (did you mean \"dense/kernel\"?); there are: "
      "dense/bias, dense/kernel");
  EXPECT_EQ(said("b", {std::string(30'000, 'a')}),
            "NOT_FOUND: [B5005] --only: no tensor is matched by 'b'; there are: " + std::string(100, 'a') +
                "... (30000 bytes)");
  EXPECT_EQ(said("b", {}), "NOT_FOUND: [B5005] --only: no tensor is matched by 'b'; there are no tensors");
  const std::string many = said("b", std::vector<std::string>(25, "a"));
  EXPECT_EQ(many.substr(many.rfind("a, a")), "a, a and 5 more");
}

TEST(NamePattern, T_166_NeitherALongNameNorALongPatternTakesMoreStack) {
  constexpr std::size_t kLong = 1 << 20;
  const std::string name(kLong, 'a');
  for (const char* pattern : {".*", "a", "(a*)*$", "(a|b)+$", "[a-z/]*$"})
    EXPECT_TRUE(matches(pattern, name)) << pattern;
  for (const char* pattern : {"(a*)*b", ".*kernel"}) EXPECT_FALSE(matches(pattern, name)) << pattern;
  constexpr std::size_t kDeep = 100'000;
  EXPECT_TRUE(matches(std::string(kDeep, 'a'), name));
  EXPECT_TRUE(matches(std::string(kDeep, '(') + std::string(kDeep, ')'), name));
  EXPECT_NE(refusal(std::string(kDeep, '(')), "");
}

}  // namespace
}  // namespace belay::runtime
