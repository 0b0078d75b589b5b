// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/note/note.h"

#include <gtest/gtest.h>

#include "belay/module.h"

extern "C" const belay_module belay_module_loader_sample;

namespace belay::runtime {
namespace {

std::string error_of_note(const std::string& text) {
  try {
    parse_note(text);
  } catch (const NoteError& e) {
    return e.what();
  }
  return "";
}

std::string with_plugins(const std::string& plugins) {
  return R"({"abi": [0, 4], "version": "1.0.0", "plugins": [)" + plugins + "]}";
}

std::string with_option(const std::string& option) {
  return with_plugins(R"({"kind": "hook", "name": "x", "options": [)" + option + "]}");
}

TEST(Note, OfAnSdkPluginHasEveryPluginAndOption) {
  const belay_module& m = belay_module_loader_sample;
  const ModuleInfo info = parse_note({m.note, m.note_size});
  EXPECT_EQ(info.abi_major, 0);
  EXPECT_EQ(info.abi_minor, BELAY_ABI_MINOR);
  EXPECT_EQ(info.version, "1.2.0");
  EXPECT_NE(info.toolchain.find("C++17"), std::string::npos) << info.toolchain;
  ASSERT_EQ(info.plugins.size(), 5u);
  EXPECT_EQ(info.plugins[1].kind, PluginKind::kSaver);
  EXPECT_EQ(info.plugins[4].name, "sample_input");
  const PluginInfo& hook = info.plugins[0];
  EXPECT_EQ(hook.kind, PluginKind::kHook);
  EXPECT_EQ(hook.doc, "Has an option of each type");
  ASSERT_EQ(hook.options.size(), 10u);
  const OptionInfo& max = *hook.option("max");
  EXPECT_STREQ(type_name(max), "float");
  EXPECT_EQ(max.default_value, OptionValue(10.0));
  EXPECT_EQ(max.min, 0);
  EXPECT_EQ(max.max, 1e30);
  EXPECT_EQ(max.help, "stop above this");
  const OptionInfo& hidden = *hook.option("hidden");
  EXPECT_STREQ(type_name(hidden), "int_list");
  EXPECT_EQ(hidden.default_value, OptionValue(std::vector<std::int64_t>{128}));
  EXPECT_EQ(hook.option("mode")->choices, (std::vector<std::string>{"fast", "slow"}));
  EXPECT_TRUE(hook.option("tensors")->required);
  EXPECT_FALSE(hook.option("tensors")->default_value.has_value());
  EXPECT_STREQ(type_name(*hook.option("feeds")), "table");
  EXPECT_EQ(hook.option("nothing"), nullptr);
}

TEST(Note, OfAnotherAbiIsReadNoFurther) {
  const ModuleInfo info = parse_note(R"({"abi": [7, 3], "version": "9", "plugins": "who knows"})");
  EXPECT_EQ(info.abi_major, 7);
  EXPECT_EQ(info.abi_minor, 3);
  EXPECT_EQ(info.version, "9");
  EXPECT_TRUE(info.plugins.empty());
}

TEST(Note, ADefaultMayBeAtTheEndsOfItsRange) {
  for (const char* option :
       {R"("type": "int", "default": 1, "min": 1, "max": 1)",
        R"("type": "float_list", "default": [0, 1], "min": 0, "max": 1)",
        R"("type": "string", "default": "y", "choices": ["x", "y"])", R"("type": "int", "required": true, "min": 1)"})
    EXPECT_EQ(error_of_note(with_option(std::string("{\"name\": \"a\", ") + option + "}")), "") << option;
}

TEST(Note, KeysOfALaterHeaderAreLeftAlone) {
  const ModuleInfo info =
      parse_note(with_plugins(R"({"kind": "hook", "name": "x", "doc": "d", "author": {"name": "y"}})"));
  EXPECT_EQ(info.plugins.at(0).doc, "d");
}

TEST(Note, B_07a_APluginOfALaterKindIsUnusableAndTheOthersAreNot) {
  const ModuleInfo info = parse_note(
      with_plugins(R"({"kind": "stage", "name": "x"}, {"kind": "hook", "name": "y"}, {"kind": "orbit", "name": "z"})"));
  ASSERT_EQ(info.plugins.size(), 1u);
  EXPECT_EQ(info.plugins[0].name, "y");
  EXPECT_EQ(info.plugins[0].index, 1u);
  ASSERT_EQ(info.unusable.size(), 2u);
  EXPECT_EQ(info.unusable[0].kind, "stage");
  EXPECT_EQ(info.unusable[0].name, "x");
  EXPECT_EQ(
      info.unusable[0].reason,
      "\"plugins.0.kind\" is \"stage\", this host knows: hook, saver, init_fn, model, input, op, optimizer, schedule, "
      "exporter, cluster");
}

TEST(Note, B_07b_AnOptionOfALaterTypeMakesItsPluginUnusable) {
  const ModuleInfo info = parse_note(
      with_plugins(R"({"kind": "hook", "name": "x", "options": [{"name": "a", "type": "complex", "default": "1+2i"}]},
                      {"kind": "hook", "name": "y"})"));
  ASSERT_EQ(info.plugins.size(), 1u);
  EXPECT_EQ(info.plugins[0].name, "y");
  ASSERT_EQ(info.unusable.size(), 1u);
  EXPECT_EQ(info.unusable[0].reason,
            "\"plugins.0.options.0.type\" is \"complex\", this host knows: bool, int, float, string, path, table, "
            "bool_list, int_list, float_list, string_list, path_list");
}

TEST(Note, B_07e_KeysThatTheHostMayAddLaterAreNoOptions) {
  const std::string option = R"({"name": "host_retries", "type": "int"})";
  EXPECT_NE(error_of_note(with_option(option)).find("is \"host_retries\", a manifest's own key"), std::string::npos);
  EXPECT_EQ(error_of_note(with_option(R"({"name": "hostname", "type": "int"})")), "");
}

TEST(Note, B_07c_ANameMayHaveAVendor) {
  for (const char* name : {"acme.ceiling", "a.b", "x-1.y_2"})
    EXPECT_EQ(error_of_note(with_plugins(std::string(R"({"kind": "hook", "name": ")") + name + "\"}")), "") << name;
  for (const char* name : {".a", "a.", "a.b.c", "a..b", "a.1"})
    EXPECT_NE(error_of_note(with_plugins(std::string(R"({"kind": "hook", "name": ")") + name + "\"}")), "") << name;
}

TEST(Note, SaysWhatIsWrongAndWhere) {
  const struct {
    std::string note, expected;
  } cases[] = {
      {"[]", "it must be a JSON object"},
      {"3", "it must be a JSON object"},
      {"{}", "\"abi\" is missing"},
      {R"({"abi": 1})", "\"abi\" must be a list"},
      {R"({"abi": [1]})", "\"abi\" must be [major, minor]"},
      {R"({"abi": [0, "1"]})", "\"abi.1\" must be an integer of 64 bits"},
      {R"({"abi": [0, 18446744073709551615]})", "\"abi.1\" must be an integer of 64 bits"},
      {R"({"abi": [0, 4]})", "\"plugins\" is missing"},
      {R"({"abi": [0, 4], "plugins": []})", "\"plugins\" is empty"},
      {R"({"abi": [0, 4], "isa": [1], "plugins": []})", "\"isa.0\" must be a string"},
      {with_plugins("1"), "\"plugins.0\" must be an object"},
      {with_plugins("{}"), "\"plugins.0.kind\" is missing"},
      {with_plugins(R"({"kind": "hook", "name": ""})"),
       "\"plugins.0.name\" is \"\", must be [a-z][a-z0-9_-]{0,62} or VENDOR.NAME of such"},
      {with_plugins(R"({"kind": "hook", "name": "X"})"),
       "\"plugins.0.name\" is \"X\", must be [a-z][a-z0-9_-]{0,62} or VENDOR.NAME of such"},
      {with_plugins(R"({"kind": "hook", "name": "a\u0000b"})"),
       "\"plugins.0.name\" is \"a\\x00b\", must be [a-z][a-z0-9_-]{0,62} or VENDOR.NAME of such"},
      {with_plugins(R"({"kind": "hook", "name": ")" + std::string(64, 'a') + R"("})"),
       "\"plugins.0.name\" is \"" + std::string(60, 'a') +
           "...\", must be [a-z][a-z0-9_-]{0,62} or VENDOR.NAME of such"},
      {with_plugins(R"({"kind": "hook", "name": "x"}, {"kind": "hook", "name": "x"})"),
       "\"plugins.1\" repeats the hook \"x\""},
      {with_option(R"({"type": "int"})"), "\"plugins.0.options.0.name\" is missing"},
      {with_option(R"({"name": "", "type": "int"})"),
       "\"plugins.0.options.0.name\" is \"\": the name of an option of the hook \"x\" consists of letters, digits, '_' "
       "and "
       "'-'"},
      {with_option(R"({"name": "a"})"), "\"plugins.0.options.0.type\" is missing"},
      {with_option(R"({"name": "a", "type": "int", "default": 1.5})"),
       "\"plugins.0.options.0.default\" must be an integer of 64 bits"},
      {with_option(R"({"name": "a", "type": "int_list", "default": [1, "b"]})"),
       "\"plugins.0.options.0.default.1\" must be an integer of 64 bits"},
      {with_option(R"({"name": "a", "type": "bool", "default": 1})"),
       "\"plugins.0.options.0.default\" must be true or false"},
      {with_option(R"({"name": "a", "type": "table", "default": 1})"),
       "\"plugins.0.options.0.default\" is given, but a table has no default"},
      {with_option(R"({"name": "a", "type": "string", "min": 1})"),
       "\"plugins.0.options.0.min\" is given, but only numbers have a range"},
      {with_option(R"({"name": "a", "type": "int", "choices": []})"),
       "\"plugins.0.options.0.choices\" are given, but only strings have choices"},
      {with_option(R"({"name": "a", "type": "int", "default": 0, "min": 1})"),
       "\"plugins.0.options.0.default\" is 0, the option's own min is 1"},
      {with_option(R"({"name": "a", "type": "float_list", "default": [0.5, 1.5], "min": 0, "max": 1})"),
       "\"plugins.0.options.0.default\" is 1.5, the option's own max is 1"},
      {with_option(R"({"name": "a", "type": "string", "default": "", "choices": ["x", "y"]})"),
       "\"plugins.0.options.0.default\" is \"\", the option's own choices are: x, y"},
      {R"({"abi": [0, 4], "x": )" + std::string(10000, '[') + std::string(10000, ']') + "}",
       "it is nested deeper than 8 levels"},
      {R"({"abi": [0, 4], "x": [[[[[[[[1]]]]]]]]})", "it is nested deeper than 8 levels"},
      {R"({"abi": [0, 4], "x": [[[[[[[1]]]]]]], "y": "\"[[[[[[[[[[\\"})", "\"plugins\" is missing"},
      {R"({"abi": [0, 4], "version": ")" + std::string(70000, 'v') + R"(", "plugins": []})",
       "\"version\" is longer than 64 KiB"},
  };
  for (const auto& c : cases) EXPECT_EQ(error_of_note(c.note), c.expected) << c.note.substr(0, 200);
}

TEST(Note, T_29b_AnOptionThatAManifestCannotGiveIsRefusedWithItsPlugin) {
  const auto error_of_option = [](const std::string& kind, const std::string& name) {
    return error_of_note(with_plugins(R"({"kind": ")" + kind +
                                      R"(", "name": "x", "options": [{"name": "a", "type": "int"})" +
                                      R"(, {"name": ")" + name + R"(", "type": "int"}]})"));
  };
  EXPECT_EQ(error_of_option("hook", "a"),
            "\"plugins.0.options.1.name\" is \"a\" again: another option of the hook \"x\" has that name");
  EXPECT_EQ(
      error_of_option("hook", "b c"),
      "\"plugins.0.options.1.name\" is \"b c\": the name of an option of the hook \"x\" consists of letters, digits, "
      "'_' and '-'");
  for (const char* kind : {"hook", "saver", "init_fn", "model", "input"})
    for (const char* key : {"plugin", "file", "name", "on_error"})
      EXPECT_EQ(error_of_option(kind, key), std::string("\"plugins.0.options.1.name\" is \"") + key +
                                                "\", a manifest's own key: the option of the " + kind +
                                                " \"x\" needs another name");
  EXPECT_EQ(error_of_option("input", "prefetch"),
            "\"plugins.0.options.1.name\" is \"prefetch\", a manifest's own key: the option of the input \"x\" needs "
            "another name");
  EXPECT_EQ(error_of_option("hook", "prefetch"), "");
  EXPECT_EQ(error_of_option("op", "file"), "") << "an attribute of a node is no key of a manifest";
}

// With options below the table "t".
std::string with_nested(const std::string& options) {
  return with_option(R"({"name": "t", "type": "table"}, )" + options);
}

TEST(Note, N_01a_KeysBelowATableAreOptionsOfTheirOwn) {
  const PluginInfo plugin =
      parse_note(with_nested(R"({"name": "t[].type", "type": "string", "choices": ["x", "y"], "required": true},
                                {"name": "t[].n", "type": "int", "min": 1, "default": 3, "when": {"type": ["x"]}},
                                {"name": "t[].n", "type": "float_list", "single": true, "when": {"type": ["y"]}},
                                {"name": "t[].in.*.z-1", "type": "bool"})"))
          .plugins.at(0);
  ASSERT_EQ(plugin.options.size(), 1u);
  ASSERT_EQ(plugin.nested.size(), 4u);
  EXPECT_EQ(plugin.nested[0].name, "t[].type");
  EXPECT_TRUE(plugin.nested[0].required);
  EXPECT_EQ(plugin.nested[1].default_value, OptionValue(std::int64_t{3}));
  EXPECT_EQ(plugin.nested[1].when_key, "type");
  EXPECT_EQ(plugin.nested[1].when, std::vector<std::string>{"x"});
  EXPECT_TRUE(plugin.nested[2].single);
  EXPECT_STREQ(type_name(plugin.nested[3]), "bool");
}

TEST(Note, N_03a_AKeyBelowATableThatNoManifestCouldHaveIsRefused) {
  const auto named = [](const std::string& name) { return R"({"name": ")" + name + R"(", "type": "int"})"; };
  for (const char* name : {"t[]", "t.", "t..a", "t[].a[]", "*.a", "t[.a", "t.a b", "t[][].a", "t.*.*.*.a"})
    EXPECT_EQ(error_of_note(with_nested(named(name))),
              "\"plugins.0.options.1.name\" is \"" + std::string(name) +
                  "\": a key below a table of the hook \"x\" is called as in \"layers[].units\" or "
                  "\"features.*.dtype\"");
  EXPECT_EQ(error_of_note(with_nested(named("u.a"))),
            "\"plugins.0.options.1.name\" is \"u.a\": \"u\" is no table among the options before it");
  EXPECT_EQ(error_of_note(with_nested(named("t.a") + "," + named("t.a"))),
            "\"plugins.0.options\" has \"t.a\" twice for one table");
  EXPECT_EQ(error_of_note(with_nested(R"({"name": "t.k", "type": "string", "choices": ["x"]},
                                         {"name": "t.a", "type": "int", "when": {"k": ["y"]}})")),
            "\"plugins.0.options\" has \"t.a\" for \"y\", no choice of \"t.k\"");
  EXPECT_EQ(error_of_note(with_nested(R"({"name": "t.a", "type": "int", "when": {"k": ["y"], "l": []}})")),
            "\"plugins.0.options.1.when\" must be an object with one key");
}

// The cost of checking them grows with the square.
TEST(Note, N_03b_HowManyKeysBelowTablesANoteMayHaveIsLimited) {
  const auto with_keys = [](int n) {
    std::string keys;
    for (int i = 0; i < n; ++i)
      keys += (i == 0 ? "" : ",") + std::string(R"({"name": "t.k)") + std::to_string(i) + R"(", "type": "int"})";
    return with_nested(keys);
  };
  EXPECT_EQ(error_of_note(with_keys(1000)), "");
  EXPECT_EQ(error_of_note(with_keys(1001)), "\"plugins.0.options\" has more than 1000 keys below tables");
  std::string values = R"("x")";
  for (int i = 0; i < 64; ++i) values += R"(, "x")";
  EXPECT_EQ(error_of_note(with_nested(R"({"name": "t.a", "type": "int", "when": {"k": [)" + values + "]}}")),
            "\"plugins.0.options.1.when\" has more than 64 values");
}

TEST(Note, N_06a_AnExampleIsAValueThatFits) {
  const auto only = [](const std::string& option) {
    return parse_note(with_option(R"({"name": "a", )" + option + "}")).plugins.at(0).options.at(0);
  };
  EXPECT_EQ(only(R"("type": "int", "min": 1, "example": 5)").example, OptionValue(std::int64_t{5}));
  EXPECT_EQ(only(R"("type": "string_list", "example": ["x"])").example, OptionValue(std::vector<std::string>{"x"}));
  EXPECT_EQ(only(R"("type": "table", "example": "{ x = 1 }")").example, OptionValue("{ x = 1 }"));
  EXPECT_EQ(only(R"("type": "path", "example": "a", "example_file": "x\u0000\u0093\u00ff\n")").example_file,
            std::string("x\0\x93\xff\n", 5));
  const auto error = [](const std::string& option) {
    return error_of_note(with_option(R"({"name": "a", )" + option + "}"));
  };
  EXPECT_EQ(error(R"("type": "int", "min": 1, "example": 0)"),
            "\"plugins.0.options.0.example\" is 0, the option's own min is 1");
  EXPECT_EQ(error(R"("type": "int", "example": "0")"), "\"plugins.0.options.0.example\" must be an integer of 64 bits");
  EXPECT_EQ(error(R"("type": "path", "example": "a", "example_file": "\u0100")"),
            "\"plugins.0.options.0.example_file\" has a character above U+00FF: each is one byte");
  for (const char* option :
       {R"("type": "path", "example_file": "x")", R"("type": "string", "example": "a", "example_file": "x")"})
    EXPECT_EQ(error(option), "\"plugins.0.options.0.example_file\" is given, but there is no path as example");
}

TEST(Note, N_08a_WhatAPluginUsesIsKnownWhereTheNoteSaysIt) {
  const auto of = [](const std::string& keys) {
    return parse_note(with_plugins(R"({"kind": "hook", "name": "x")" + keys + "}")).plugins.at(0);
  };
  EXPECT_FALSE(of("").uses.has_value());
  EXPECT_FALSE(of("").state.has_value());
  EXPECT_EQ(of(R"(, "uses": ["begin", "a later callback"], "state": true)").uses,
            (std::vector<std::string>{"begin", "a later callback"}));
  EXPECT_EQ(of(R"(, "uses": [], "state": false)").state, false);
}

TEST(Note, N_09a_AnOptionThatIsNotMarkedAsWatchingIsNot) {
  const PluginInfo plugin = parse_note(with_option(R"({"name": "a", "type": "int", "watching": true},
                                                      {"name": "b", "type": "int"})"))
                                .plugins.at(0);
  EXPECT_TRUE(plugin.options[0].watching);
  EXPECT_FALSE(plugin.options[1].watching);
}

TEST(Note, ThatIsNoJsonOrNoUtf8IsRefusedWithThePlace) {
  for (const std::string& text :
       {std::string(""), std::string("{"), std::string("{\"abi\": [0, 4],}"), std::string("{\"abi\": \"\xff\"}"),
        std::string("{\"abi\": 1e999}"), std::string("{\"abi\": [0, 4]} x")})
    EXPECT_EQ(error_of_note(text).rfind("it is no JSON: ", 0), 0u) << text << " -> " << error_of_note(text);
}

TEST(Note, AbiFitsExactlyBeforeOnePointZero) {
  EXPECT_TRUE(abi_fits(BELAY_ABI_MAJOR, BELAY_ABI_MINOR));
  EXPECT_FALSE(abi_fits(BELAY_ABI_MAJOR, BELAY_ABI_MINOR + 1));
  EXPECT_FALSE(abi_fits(BELAY_ABI_MAJOR, BELAY_ABI_MINOR - 1));
  EXPECT_FALSE(abi_fits(BELAY_ABI_MAJOR + 1, BELAY_ABI_MINOR));
}

TEST(Note, KindsHaveNamesBothWays) {
  for (const PluginKind kind : kPluginKinds) EXPECT_EQ(kind_from_name(kind_name(kind)), kind);
  EXPECT_EQ(kind_from_name("stage"), std::nullopt);
}

}  // namespace
}  // namespace belay::runtime
