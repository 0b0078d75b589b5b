// SPDX-License-Identifier: Apache-2.0
#include "runtime/validate/made_up.h"

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

TEST(MadeUp, RequiredOptionsThatNobodyGaveGetAValueWithinTheirLimits) {
  Diagnostics problems;
  const ChosenOptions chosen = choose_options(plugin(), {"tensor=accuracy"}, "/made/up", problems);
  EXPECT_EQ(problems.text(), "");
  EXPECT_EQ(chosen.made_up, (std::vector<std::string>{"n", "rates", "from", "mode"}));
}

TEST(MadeUp, ATableGetsAnEntryUnlessItHasOne) {
  PluginInfo info;
  info.name = "x";
  OptionInfo feeds;
  feeds.name = "feeds";
  feeds.type = OptionType::kTable;
  feeds.required = true;
  info.options.push_back(feeds);
  Diagnostics problems;
  EXPECT_EQ(choose_options(info, {}, "/made/up", problems).made_up, std::vector<std::string>{"feeds"});
  EXPECT_EQ(choose_options(info, {"feeds.accuracy=0.5"}, "/made/up", problems).made_up, std::vector<std::string>{});
  EXPECT_EQ(problems.text(), "");
}

TEST(MadeUp, WithAllGivenNothingIsMadeUp) {
  Diagnostics problems;
  const ChosenOptions chosen =
      choose_options(plugin(), {"n=7", "rates=[0.1]", "tensor=loss", "from=a", "mode=slow"}, "/made/up", problems);
  EXPECT_EQ(problems.text(), "");
  EXPECT_TRUE(chosen.made_up.empty());
}

TEST(MadeUp, WhatIsWrongIsToldAsForAManifest) {
  Diagnostics problems;
  choose_options(plugin(), {"n=2", "mod=fast"}, "/made/up", problems);
  EXPECT_EQ(problems.text(), R"(--set n: error: "n" is 2, must be at least 5
  n=2
    ^
--set mod: error: "mod" is not an option of hook "x"
  mod=fast
  ^~~
  help: did you mean "mode"? options: n, rates, tensor, from, mode, left_out
)");
}

TEST(MadeUp, T_30c_AKeyThatTheManifestKeepsForItselfIsRefusedByName) {
  for (const char* key : {"plugin", "file", "name", "on_error"}) {
    Diagnostics problems;
    choose_options(plugin(), {std::string(key) + "=x"}, "/made/up", problems);
    EXPECT_EQ(problems.text().rfind("--set " + std::string(key) + ": error: \"" + key + "\" is no option: in a", 0), 0u)
        << problems.text();
  }
}

}  // namespace
}  // namespace belay::runtime
