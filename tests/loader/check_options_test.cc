// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/options/check_options.h"

#include <gtest/gtest.h>

#include "belay/detail/parse_options.h"
#include "belay/module.h"
#include "tests/loader/checked_options.h"

extern "C" const belay_module belay_module_loader_sample;

namespace belay::runtime {
namespace {

class CheckOptionsTest : public CheckedOptions {
 protected:
  CheckOptionsTest()
      : CheckedOptions(parse_note({belay_module_loader_sample.note, belay_module_loader_sample.note_size}).plugins[0],
                       {{"/base"}, [](const std::string& name) -> std::optional<std::string> {
                          if (name == "DATA") return "/data";
                          return std::nullopt;
                        }}) {
    give("tensors", std::vector<std::string>{"loss"});
  }
};

TEST_F(CheckOptionsTest, GoodValuesCrossInTheirOwnTypes) {
  give("at_end", true);
  give("every_n_iter", std::int64_t{5});
  give("max", std::int64_t{3});
  give("mode", "slow");
  give("target", "${DATA}/x.csv");
  give("hidden", std::vector<std::int64_t>{64, 32});
  give("rates", std::vector<std::int64_t>{1, 2});
  give("files", std::vector<std::string>{"a.csv", "/b.csv"});
  give("feeds.keep", 0.5);
  give("feeds.deep.er", "text");
  EXPECT_EQ(check(), "");
  EXPECT_EQ(values_.size(), 11u);
  EXPECT_EQ(value("at_end")->type, BELAY_VALUE_BOOL);
  EXPECT_EQ(*static_cast<const std::int64_t*>(value("at_end")->data), 1);
  EXPECT_EQ(value("max")->type, BELAY_VALUE_FLOAT);
  EXPECT_EQ(*static_cast<const double*>(value("max")->data), 3.0);
  EXPECT_EQ(detail::view(*static_cast<const belay_str*>(value("target")->data)), "/data/x.csv");
  EXPECT_EQ(value("hidden")->count, 2u);
  EXPECT_EQ(value("rates")->type, BELAY_VALUE_FLOAT | BELAY_VALUE_LIST);
  EXPECT_EQ(static_cast<const double*>(value("rates")->data)[1], 2.0);
  EXPECT_EQ(detail::view(static_cast<const belay_str*>(value("files")->data)[0]), "/base/a.csv");
  EXPECT_EQ(detail::view(static_cast<const belay_str*>(value("files")->data)[1]), "/b.csv");
  EXPECT_EQ(value("feeds.keep")->type, BELAY_VALUE_FLOAT);
  EXPECT_EQ(detail::view(*static_cast<const belay_str*>(value("feeds.deep.er")->data)), "text");
}

TEST_F(CheckOptionsTest, AnEmptyListTakesTheOptionsType) {
  give("rates", std::monostate());
  EXPECT_EQ(check(), "");
  EXPECT_EQ(value("rates")->type, BELAY_VALUE_FLOAT | BELAY_VALUE_LIST);
  EXPECT_EQ(value("rates")->count, 0u);
}

TEST_F(CheckOptionsTest, AnEmptyPathStaysEmpty) {
  give("target", "");
  EXPECT_EQ(check(), "");
  EXPECT_EQ(static_cast<const belay_str*>(value("target")->data)->size, 0u);
}

TEST_F(CheckOptionsTest, T_117_ANumberThatAFloat32HasNotIsRefusedByOptionAndValue) {
  give("max", 1e-300);
  give("rates", std::vector<double>{1, 1e39});
  give("feeds.keep", -1e39);
  EXPECT_EQ(
      check(),
      "9:10 \"max\" is 1e-300, which is 0 as a float32: the smallest one above 0 is 1.1754944e-38 [max: stop above "
      "this]\n"
      "10:10 element 1 of \"rates\" is 1e+39, which is no float32: the largest one is 3.4028235e+38 [rates: one per "
      "layer]\n"
      "11:10 \"feeds.keep\" is -1e+39, which is no float32: the largest one is 3.4028235e+38 []");
}

TEST_F(CheckOptionsTest, EachProblemIsToldWithItsPlaceAndFix) {
  const std::string all_options =
      "options: at_end, every_n_iter, max, mode, target, hidden, rates, tensors, files, feeds";
  const struct {
    const char* key;
    OptionValue value;
    std::string expected;
  } cases[] = {
      {"evry_n_iter", std::int64_t{5},
       "9:1 \"evry_n_iter\" is not an option of hook \"sample_hook\" [did you mean \"every_n_iter\"? " + all_options +
           "]"},
      {"zzz", 1.0, "9:1 \"zzz\" is not an option of hook \"sample_hook\" [" + all_options + "]"},
      {"at_end", std::int64_t{1}, "9:10 \"at_end\" must be true or false, not an integer [write at_end = true]"},
      {"at_end", std::int64_t{2}, "9:10 \"at_end\" must be true or false, not an integer []"},
      {"at_end", "Yes", "9:10 \"at_end\" must be true or false, not a string [write it without quotes: at_end = true]"},
      {"at_end", "true",
       "9:10 \"at_end\" must be true or false, not a string [write it without quotes: at_end = true]"},
      {"every_n_iter", "10",
       "9:10 \"every_n_iter\" must be an integer, not a string [write it without quotes: every_n_iter = 10]"},
      {"every_n_iter", "often", "9:10 \"every_n_iter\" must be an integer, not a string []"},
      {"every_n_iter", 10.0,
       "9:10 \"every_n_iter\" must be an integer, not a number [write it without a fraction: every_n_iter = 10]"},
      {"every_n_iter", 1.5, "9:10 \"every_n_iter\" must be an integer, not a number []"},
      {"every_n_iter", std::int64_t{0},
       "9:10 \"every_n_iter\" is 0, must be at least 1 [every_n_iter: period in steps]"},
      {"every_n_iter", std::vector<std::int64_t>{1},
       "9:10 \"every_n_iter\" must be an integer, not a list of integers []"},
      {"max", "1e3", "9:10 \"max\" must be a number, not a string [write it without quotes: max = 1000]"},
      {"max", -0.5, "9:10 \"max\" is -0.5, must be at least 0 [max: stop above this]"},
      {"max", 2e30, "9:10 \"max\" is 2e+30, must be at most 1e+30 [max: stop above this]"},
      {"max", std::numeric_limits<double>::quiet_NaN(),
       "9:10 \"max\" is nan, must be at least 0 [max: stop above this]"},
      {"max", std::numeric_limits<double>::infinity(),
       "9:10 \"max\" is inf, must be at most 1e+30 [max: stop above this]"},
      {"mode", std::int64_t{1}, "9:10 \"mode\" must be a string, not an integer [write it in quotes]"},
      {"mode", "fsat", "9:10 \"mode\" is \"fsat\", must be one of: fast, slow [did you mean \"fast\"?]"},
      {"mode", "fastest", "9:10 \"mode\" is \"fastest\", must be one of: fast, slow [did you mean \"fast\"?]"},
      {"max_steps", std::int64_t{5},
       "9:1 \"max_steps\" is not an option of hook \"sample_hook\" [this key belongs to [run]; " + all_options + "]"},
      {"mode", "reckless", "9:10 \"mode\" is \"reckless\", must be one of: fast, slow []"},
      {"target", false, "9:10 \"target\" must be a path, not true or false [write it in quotes]"},
      {"hidden", std::int64_t{64},
       "9:10 \"hidden\" must be a list of integers, not an integer [a list of one is written in brackets: hidden = "
       "[...]]"},
      {"hidden", std::vector<double>{1.5},
       "9:10 \"hidden\" must be a list of integers, not a list of numbers [write each value as a whole number, without "
       "quotes]"},
      {"hidden", std::vector<std::int64_t>{64, 0, 9000},
       "9:10 element 1 of \"hidden\" is 0, must be at least 1 [hidden: layer sizes]\n"
       "9:10 element 2 of \"hidden\" is 9000, must be at most 4096 [hidden: layer sizes]"},
      {"rates", std::vector<std::string>{"a"},
       "9:10 \"rates\" must be a list of numbers, not a list of strings [write each value as a number, without quotes]"},
      {"files", std::vector<std::int64_t>{1},
       "9:10 \"files\" must be a list of paths, not a list of integers [write each value in quotes]"},
      {"feeds", 1.0,
       "9:10 \"feeds\" must be a table, not a number [write [...] with the keys of the table, or feeds = { key = value "
       "}]"},
      {"max.high", 1.0, "9:1 \"max\" must be a number, not a table [write max = ...]"},
  };
  for (const auto& c : cases) {
    use_.options.resize(1);
    give(c.key, c.value);
    EXPECT_EQ(check(), c.expected) << c.key;
  }
}

TEST_F(CheckOptionsTest, AVariableThatIsNotSetIsToldByThePathsOwnRules) {
  give("target", "${NOT_SET}/x");
  EXPECT_NE(check().find("NOT_SET"), std::string::npos) << check();
  use_.options.resize(1);
  give("files", std::vector<std::string>{"fine", "${NOT_SET}/x"});
  EXPECT_NE(check().find("NOT_SET"), std::string::npos) << check();
}

TEST_F(CheckOptionsTest, AMissingOneThatIsRequiredIsToldAtTheTable) {
  use_.options.clear();
  EXPECT_EQ(check(),
            "7:1 hook \"sample_hook\" needs the option \"tensors\" [tensors is a list of strings: what to watch]");
}

TEST_F(CheckOptionsTest, ARequiredOneOfTheWrongTypeIsToldOnce) {
  use_.options.clear();
  give("tensors", "loss");
  EXPECT_EQ(check(),
            "8:10 \"tensors\" must be a list of strings, not a string [a list of one is written in brackets: tensors = "
            "[...]]");
}

TEST_F(CheckOptionsTest, AllProblemsAreToldAtOnce) {
  give("max", "x");
  give("hiden", std::int64_t{1});
  give("mode", "x");
  Diagnostics problems;
  check_options(plugin_, use_, paths_, problems);
  EXPECT_EQ(problems.size(), 3u);
}

TEST_F(CheckOptionsTest, APluginWithoutOptionsSaysSo) {
  PluginInfo bare;
  bare.kind = PluginKind::kSaver;
  bare.name = "bare";
  Diagnostics problems;
  use_.options.resize(1);
  check_options(bare, use_, paths_, problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems.sorted()[0].message, "\"tensors\" is not an option of saver \"bare\"");
  EXPECT_EQ(problems.sorted()[0].help, "it has no options");
}

class InputOptionsTest : public CheckedOptions {
 protected:
  static PluginInfo table_input() {
    OptionInfo path, batch_size;
    path.name = "path";
    path.type = OptionType::kPath;
    path.required = true;
    batch_size.name = "batch_size";
    batch_size.type = OptionType::kInt;
    PluginInfo info;
    info.kind = PluginKind::kInput;
    info.name = "table";
    info.options = {path, batch_size};
    return info;
  }
  InputOptionsTest() : CheckedOptions(table_input(), {}) {}
};

// A program that hands an input's data over as "file": a manifest cannot, since there it is the plugin's library.
TEST_F(InputOptionsTest, T_125_DataGivenAsFileIsToldWhichOptionItIs) {
  give("file", "rows.csv");
  give("batch_size", std::int64_t{32});
  EXPECT_EQ(check(),
            "8:1 \"file\" is not an option of input \"table\" [what input \"table\" reads is given by \"path\"; "
            "options: path, batch_size]");
}

}  // namespace
}  // namespace belay::runtime
