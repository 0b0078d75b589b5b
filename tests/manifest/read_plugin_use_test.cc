// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/read_plugin_use.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/manifest/parsed.h"

namespace belay::runtime {
namespace {

PluginUse model_of(const std::string& keys) {
  const Parsed result = parsed("[model]\n" + keys + "\n[input.train]\nplugin = 'idx'\n", {}, "/m/train.toml");
  EXPECT_EQ(result.errors, "");
  return result.manifest.value().model.value();
}

std::string errors_of_model(const std::string& keys) {
  return parsed("[model]\n" + keys + "\n[input.train]\nplugin = 'idx'\n").errors;
}

TEST(ReadPluginUse, ReservedKeysAreNoOptions) {
  const Parsed result =
      parsed(kRest + "[[hooks]]\nplugin = 'a'\nfile = './a.so'\nname = 'first'\non_error = 'disable'\nn = 1\n", {},
             "/m/t.toml");
  EXPECT_EQ(result.errors, "");
  const PluginUse& hook = result.manifest->hooks[0];
  EXPECT_EQ(hook.plugin, "a");
  EXPECT_EQ(hook.file, "/m/a.so");
  EXPECT_EQ(hook.name, "first");
  EXPECT_EQ(hook.on_error, OnHookError::kDisable);
  ASSERT_EQ(hook.options.size(), 1u);
  EXPECT_EQ(hook.options[0].key, "n");
  EXPECT_EQ(hook.at.line, 6);
  EXPECT_EQ(hook.plugin_at.line, 7);
  EXPECT_EQ(hook.plugin_at.column, 10);
}

// The folder of an export has the name of its exporter.
TEST(ReadPluginUse, T_167_AnExporterIsNotCalledAsTheFolderAboveItIs) {
  for (const std::string name : {".", ".."})
    EXPECT_NE(parsed(kRest + "[[exporters]]\nplugin = 'onnx'\nname = '" + name + "'\n").errors.find("\"..\""),
              std::string::npos);
  EXPECT_EQ(parsed(kRest + "[[exporters]]\nplugin = 'onnx'\nname = '..x'\n").errors.find("\"..\""), std::string::npos);
}

TEST(ReadPluginUse, AFileAloneIsEnough) {
  const PluginUse model = model_of("file = '/x/m.so'");
  EXPECT_EQ(model.plugin, "");
  EXPECT_EQ(model.file, "/x/m.so");
  EXPECT_EQ(model.plugin_at.column, 8);
}

TEST(ReadPluginUse, InputsHaveAPrefetch) {
  const Parsed result = parsed("[model]\nplugin = 'a'\nprefetch = 'mine'\n[input.train]\nplugin = 'b'\nprefetch = 8\n");
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(result.manifest->inputs.at("train").prefetch, 8);
  EXPECT_TRUE(result.manifest->inputs.at("train").options.empty());
  EXPECT_EQ(result.manifest->model->options[0].key, "prefetch");
}

TEST(ReadPluginUse, OptionsKeepTheirKindAndOrder) {
  const PluginUse model = model_of(
      "plugin = 'a'\nz = true\ny = 5\nx = 2.5\nw = 'text'\nv = [true]\nu = [1, 2]\nt = [1, 2.5]\ns = ['a']\nr = []\n"
      "q = inf\np = -9223372036854775808\no = ''\n");
  const std::pair<std::string, OptionValue> expected[] = {
      {"z", true},
      {"y", std::int64_t{5}},
      {"x", 2.5},
      {"w", std::string("text")},
      {"v", std::vector<bool>{true}},
      {"u", std::vector<std::int64_t>{1, 2}},
      {"t", std::vector<double>{1, 2.5}},
      {"s", std::vector<std::string>{"a"}},
      {"r", std::monostate{}},
      {"q", std::numeric_limits<double>::infinity()},
      {"p", std::numeric_limits<std::int64_t>::min()},
      {"o", std::string()},
  };
  ASSERT_EQ(model.options.size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(model.options[i].key, expected[i].first);
    EXPECT_EQ(model.options[i].value, expected[i].second) << expected[i].first;
  }
}

TEST(ReadPluginUse, NestedTablesAreFlattened) {
  const PluginUse model = model_of(
      "plugin = 'a'\nlayers = [{ units = 5, act = { name = 'relu' } }, { units = 6 }]\nkernel = [[3, 3], [1]]\n"
      "names = { \"dense/kernel\" = 'x', \"layer.0.w\" = 'y' }\n[model.deep.er]\nk = 1\n");
  std::vector<std::string> keys;
  for (const PluginOption& option : model.options) keys.push_back(option.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"layers.0.units", "layers.0.act.name", "layers.1.units", "kernel.0",
                                            "kernel.1", "names.dense/kernel", "names.layer.0.w", "deep.er.k"}));
  EXPECT_EQ(model.options[1].key_at.column, 32);
  EXPECT_EQ(model.options[1].value_at.column, 39);
}

TEST(ReadPluginUse, MistakesAreShown) {
  const struct {
    std::string keys, expected;
  } cases[] = {
      {"hidden = 5",
       "train.toml:1:1: error[B1021]: [model] names no plugin\n  [model]\n  ^~~~~~~\n"
       "  help: add plugin = \"NAME\", or file = \"./NAME.so\"; `belay plugins` lists the names\n"},
      {"plugni = 'mlp'",
       "train.toml:1:1: error[B1021]: [model] names no plugin\n  [model]\n  ^~~~~~~\n"
       "  help: did you mean \"plugin\" instead of \"plugni\"?\n"},
      {"plgin = 'csv'\nfiles = ['a']",
       "train.toml:1:1: error[B1021]: [model] names no plugin\n  [model]\n  ^~~~~~~\n"
       "  help: did you mean \"plugin\" instead of \"plgin\"?\n"},
      {"files = ['a']",
       "train.toml:1:1: error[B1021]: [model] names no plugin\n  [model]\n  ^~~~~~~\n"
       "  help: add plugin = \"NAME\", or file = \"./NAME.so\"; `belay plugins` lists the names\n"},
      {"type = 'mlp'",
       "train.toml:1:1: error[B1021]: [model] names no plugin\n  [model]\n  ^~~~~~~\n"
       "  help: did you mean \"plugin\" instead of \"type\"?\n"},
      {"plugin = 5",
       "train.toml:2:10: error[B1012]: model.plugin must be a string, found 5\n  plugin = 5\n           ^\n"
       "  help: write it in quotes\n"},
      {"plugin = ''",
       "train.toml:2:10: error[B1015]: model.plugin must not be empty\n  plugin = ''\n           ^~\n"
       "  help: take the key away if it needs no value\n"},
      {"file = '${NOPE}/a.so'",
       "train.toml:2:8: error[B1017]: the environment variable NOPE is not set\n  file = '${NOPE}/a.so'\n         "
       "^~~~~~~~~~~~~~\n"
       "  help: set it before the run: export NOPE=...\n"},
      {"plugin = 'a'\nname = 'my hook'",
       "train.toml:3:8: error[B1024]: the name of an instance has letters, digits, '_', '-' and '.', at most 63\n  "
       "name = 'my hook'\n         ^~~~~~~~~\n  help: give it another name\n"},
      {"plugin = 'a'\nname = '..'",
       "train.toml:3:8: error[B1024]: an instance cannot have the name of a folder, \".\" or \"..\"\n  name = '..'\n   "
       "      "
       "^~~~\n  help: give it another name\n"},
      {"plugin = 'a'\non_error = 'stop'",
       "train.toml:3:1: error[B1016]: model.on_error is for [[hooks]] and [[exporters]] only\n  on_error = 'stop'\n  "
       "^~~~~~~~\n"
       "  help: take it away\n"},
      {"plugin = 'a'\nx = [1, 'a']",
       "train.toml:3:5: error[B1023]: model.x mixes kinds of values\n  x = [1, 'a']\n      ^~~~~~~~\n"
       "  help: a list holds booleans, numbers, strings, or tables and lists\n"},
      {"plugin = 'a'\nx = [{a = 1}, {}]",
       "train.toml:3:15: error[B1023]: model.x.1 is an empty table\n  x = [{a = 1}, {}]\n                ^~\n"
       "  help: set a key in it, or take it out\n"},
      {"plugin = 'a'\nx = 2020-01-01",
       "train.toml:3:5: error[B1022]: model.x is the date 2020-01-01; no option is a date\n  x = 2020-01-01\n      "
       "^~~~~~~~~~\n"
       "  help: write it in quotes if you mean a string\n"},
      {"plugin = 'a'\nx = [2020-01-01]",
       "train.toml:3:5: error[B1023]: model.x mixes kinds of values\n  x = [2020-01-01]\n      ^~~~~~~~~~~~\n"
       "  help: a list holds booleans, numbers, strings, or tables and lists\n"},
      {"plugin = 'a'\nx.y = 1\n\"x.y\" = 2",
       "train.toml:4:1: error[B1009]: model.x.y is given twice\n  \"x.y\" = 2\n  ^~~~~\n"
       "  help: a key in quotes with dots is the same as keys of nested tables\n"},
  };
  for (const auto& c : cases) EXPECT_EQ(errors_of_model(c.keys), c.expected) << c.keys;
}

}  // namespace
}  // namespace belay::runtime
