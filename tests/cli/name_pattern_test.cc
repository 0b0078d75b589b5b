// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/name_pattern.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "runtime/cli/command_line.h"

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
  EXPECT_EQ(refusal("(["), "--only is \"([\", which is no regular expression: missing ]: [");
  EXPECT_EQ(refusal("(?!a)b"), "--only is \"(?!a)b\", which is no regular expression: invalid perl operator: (?!");
  EXPECT_EQ(refusal("(a)\\1"), "--only is \"(a)\\1\", which is no regular expression: invalid escape sequence: \\1");
  EXPECT_NE(refusal("\xff"), "");
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
