// SPDX-License-Identifier: Apache-2.0
#include "runtime/validate/synthetic.h"

#include <gtest/gtest.h>

namespace belay::runtime {
namespace {

PluginInfo plugin() {
  PluginInfo info;
  info.name = "x";
  const auto add = [&](const char* name, OptionType type, bool list, bool required) {
    OptionInfo option;
    option.name = name;
    option.type = type;
    option.list = list;
    option.required = required;
    info.options.push_back(option);
  };
  add("n", OptionType::kInt, false, true);
  add("rates", OptionType::kFloat, true, true);
  add("tensor", OptionType::kString, false, true);
  add("from", OptionType::kPath, false, true);
  add("mode", OptionType::kString, false, true);
  add("left_out", OptionType::kInt, false, false);
  info.options[0].min = 5;
  info.options[1].max = 0.5;
  info.options[4].choices = {"fast", "slow"};
  return info;
}

TEST(Synthetic, RequiredOptionsThatNobodyGaveGetAValueWithinTheirLimits) {
  Diagnostics problems;
  const ChosenOptions chosen = choose_options(plugin(), {"tensor=accuracy"}, "/synthetic", problems);
  EXPECT_EQ(problems.text(), "");
  EXPECT_EQ(chosen.synthetic, (std::vector<std::string>{"n", "rates", "from", "mode"}));
}

TEST(Synthetic, ATableGetsAnEntryUnlessItHasOne) {
  PluginInfo info;
  info.name = "x";
  OptionInfo feeds;
  feeds.name = "feeds";
  feeds.type = OptionType::kTable;
  feeds.required = true;
  info.options.push_back(feeds);
  Diagnostics problems;
  EXPECT_EQ(choose_options(info, {}, "/synthetic", problems).synthetic, std::vector<std::string>{"feeds"});
  EXPECT_EQ(choose_options(info, {"feeds.accuracy=0.5"}, "/synthetic", problems).synthetic, std::vector<std::string>{});
  EXPECT_EQ(problems.text(), "");
}

// The value's strings, or its numbers as strings.
std::vector<std::string> values_of(const ChosenOptions& chosen, const std::string& name) {
  std::vector<std::string> texts;
  for (const belay::testing::OptionValue& value : chosen.values.all()) {
    if (value.name != name) continue;
    texts = value.texts;
    for (const std::int64_t i : value.integers) texts.push_back(std::to_string(i));
  }
  return texts;
}

PluginInfo plugin_with_examples() {
  return parse_note(R"({"abi": [0, 4], "plugins": [{"kind": "hook", "name": "x", "options": [
      {"name": "needed", "type": "int", "required": true, "example": 7},
      {"name": "other", "type": "int", "example": 8},
      {"name": "from", "type": "path", "required": true, "example": "runs/first"},
      {"name": "files", "type": "path_list", "example": ["data/a.csv"], "example_file": "1,2\u0000"},
      {"name": "layers", "type": "table", "required": true, "example": "[{ type = \"dense\" }]"},
      {"name": "layers[].type", "type": "string", "choices": ["dense", "conv"]}]}]})")
      .plugins.at(0);
}

TEST(Synthetic, N_06b_ExamplesOfTheNoteAreTaken) {
  Diagnostics problems;
  const ChosenOptions chosen = choose_options(plugin_with_examples(), {}, "/synthetic", problems);
  EXPECT_EQ(problems.text(), "");
  EXPECT_EQ(values_of(chosen, "needed"), std::vector<std::string>{"7"});
  EXPECT_EQ(values_of(chosen, "other"), std::vector<std::string>{"8"});
  EXPECT_EQ(values_of(chosen, "files"), std::vector<std::string>{"/synthetic/data/a.csv"});
  EXPECT_EQ(values_of(chosen, "layers.0.type"), std::vector<std::string>{"dense"});
  EXPECT_EQ(chosen.synthetic, std::vector<std::string>{"from"}) << "its note does not say what lies there";
  EXPECT_EQ(chosen.paths, (std::vector<std::string>{"/synthetic/runs/first", "/synthetic/data/a.csv"}));
  EXPECT_EQ(chosen.files,
            (std::map<std::string, std::string>{{"/synthetic/data/a.csv", std::string("1,2\0", 4)},
                                                {"/synthetic/runs/first", "synthetic, by belay validate\n"}}));
}

TEST(Synthetic, N_06b_WhatIsGivenGoesBeforeTheExamplesAndTheOptionalOnesAreLeftOut) {
  Diagnostics problems;
  const ChosenOptions chosen =
      choose_options(plugin_with_examples(), {"layers=[{ type = \"conv\" }]", "from=/x"}, "/synthetic", problems);
  EXPECT_EQ(problems.text(), "");
  EXPECT_EQ(values_of(chosen, "needed"), std::vector<std::string>{"7"});
  EXPECT_EQ(values_of(chosen, "other"), std::vector<std::string>{});
  EXPECT_EQ(values_of(chosen, "layers.0.type"), std::vector<std::string>{"conv"});
  EXPECT_EQ(chosen.paths, std::vector<std::string>{"/x"});
  EXPECT_TRUE(chosen.files.empty());
  EXPECT_TRUE(chosen.synthetic.empty());
}

TEST(Synthetic, N_06c_AnExampleThatTheOptionsDoNotTakeIsAProblem) {
  PluginInfo info = plugin_with_examples();
  for (OptionInfo& option : info.options)
    if (option.name == "layers") option.example = "[{ type = \"dens\" }]";
  Diagnostics problems;
  choose_options(info, {}, "/synthetic", problems);
  EXPECT_NE(problems.text().find("\"layers.0.type\" is \"dens\", must be one of: dense, conv"), std::string::npos)
      << problems.text();
}

TEST(Synthetic, WithAllGivenNothingIsSynthetic) {
  Diagnostics problems;
  const ChosenOptions chosen =
      choose_options(plugin(), {"n=7", "rates=[0.1]", "tensor=loss", "from=a", "mode=slow"}, "/synthetic", problems);
  EXPECT_EQ(problems.text(), "");
  EXPECT_TRUE(chosen.synthetic.empty());
}

TEST(Synthetic, WhatIsWrongIsToldAsForAManifest) {
  Diagnostics problems;
  choose_options(plugin(), {"n=2", "mod=fast"}, "/synthetic", problems);
  EXPECT_EQ(problems.text(), R"(--set n: error[B2033]: "n" is 2, must be at least 5
  n=2
    ^
--set mod: error[B2030]: "mod" is not an option of hook "x"
  mod=fast
  ^~~
  help: did you mean "mode"? options: n, rates, tensor, from, mode, left_out
)");
}

TEST(Synthetic, T_30c_AKeyThatTheManifestKeepsForItselfIsRefusedByName) {
  for (const char* key : {"plugin", "file", "name", "on_error"}) {
    Diagnostics problems;
    choose_options(plugin(), {std::string(key) + "=x"}, "/synthetic", problems);
    EXPECT_EQ(problems.text().rfind("--set " + std::string(key) + ": error: \"" + key + "\" is no option: in a", 0), 0u)
        << problems.text();
  }
}

}  // namespace
}  // namespace belay::runtime
