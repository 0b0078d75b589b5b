// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/format/strict_json.h"

#include <gtest/gtest.h>

#include "belay/testing/error_of.h"

namespace belay::runtime {
namespace {

using belay::testing::error_of;

std::string outcome(const std::string& text) {
  return error_of([&] { parse_json(text); });
}

TEST(StrictJson, WhatIsNoneSaysWhere) {
  const struct {
    std::string text, expected;
  } cases[] = {
      {"", "it is no JSON at byte 0"},
      {"{\"a\": }", "it is no JSON at byte 6"},
      {"{} {}", "it is no JSON at byte 3"},
      {"[01]", "it is no JSON at byte 2"},
      {"\"\xff\"", "it is no JSON at byte 1"},
      {"[1e999]", "it is no JSON that belay writes: [json.exception.out_of_range.406] number overflow parsing '1e999'"},
      {"{\"a\": 1, \"\\u0061\": 2}", "the key \"a\" occurs twice in one object"},
      {"[{\"a\": {\"b\": 1, \"b\": 2}}]", "the key \"b\" occurs twice in one object"},
      {std::string(16, '[') + std::string(16, ']'), ""},
      {std::string(17, '[') + std::string(17, ']'), "it is nested deeper than 16 levels"},
      {std::string(1'000'000, '['), "it is nested deeper than 16 levels"},
  };
  for (const auto& c : cases) EXPECT_EQ(outcome(c.text), c.expected.empty() ? "" : "DATA_LOSS: [B4012] " + c.expected);
}

TEST(StrictJson, TheSameKeyMayStandInTwoObjects) {
  EXPECT_EQ(outcome(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]})"), "");
}

TEST(StrictJson, ValuesAndKeysAreCounted) {
  std::string list = "[0", object = "{\"0\":0";
  for (int i = 1; i < 399'999; ++i) list += ",0";
  for (int i = 1; i < 200'000; ++i) object += ",\"" + std::to_string(i) + "\":0";
  EXPECT_EQ(outcome(list + "]"), "");
  EXPECT_EQ(outcome(list + ",0]"), "DATA_LOSS: [B4012] it has more than 400000 values");
  EXPECT_EQ(outcome(object + "}"), "DATA_LOSS: [B4012] it has more than 400000 values");
}

TEST(StrictJson, EveryFieldIsCheckedByNameAndKind) {
  const nlohmann::json value = {
      {"text", "t"}, {"big", 18446744073709551615u}, {"minus", -1}, {"list", {1}}, {"object", {{"x", 1}}}};
  const JsonFields fields(value, "files[2]", {"text", "big", "minus", "list", "object"});
  EXPECT_EQ(fields.text("text"), "t");
  EXPECT_EQ(fields.unsigned_integer("big"), 18446744073709551615u);
  EXPECT_EQ(fields.list("list").size(), 1u);
  EXPECT_EQ(fields.object("object").size(), 1u);
  EXPECT_EQ(fields.place("text"), "files[2].text");
  const struct {
    std::function<void()> read;
    std::string expected;
  } cases[] = {
      {[&] { fields.text("big"); }, "files[2].big is no string"},
      {[&] { fields.integer("big"); }, "files[2].big is no integer below 9223372036854775808"},
      {[&] { fields.integer("minus"); }, "files[2].minus is no integer that is zero or more"},
      {[&] { fields.unsigned_integer("text"); }, "files[2].text is no integer that is zero or more"},
      {[&] { fields.list("object"); }, "files[2].object is no list"},
      {[&] { fields.object("list"); }, "files[2].list is no object"},
      {[&] { JsonFields(value, "", {"text"}); }, "big is unknown"},
      {[&] { JsonFields(value, "", {"more"}); }, "more is missing"},
      {[&] { JsonFields(value["list"], "", {}); }, "it is no object"},
  };
  for (const auto& c : cases) EXPECT_EQ(error_of(c.read), "DATA_LOSS: [B4012] " + c.expected);
}

}  // namespace
}  // namespace belay::runtime
