// SPDX-License-Identifier: Apache-2.0
#include "belay/detail/parse_options.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <string>

#include "belay/module.h"
#include "belay/testing/error_of.h"
#include "belay/testing/option_values.h"

namespace {

using belay::testing::error_of;
using belay::testing::FakeHost;
using belay::testing::OptionValues;

constexpr std::int64_t kTwoSizes[] = {1, 2};

// Keeps its options, as most plugins do.
class Keeper final : public belay::Hook {
 public:
  struct Options {
    bool flag = true;
    std::int64_t number = 7;
    std::int8_t tiny = 1;
    std::uint32_t natural = 5;
    double rate = 0.5;
    float ratio = 0.25f;
    belay::Str text = "unset";
    belay::Path file = "none";
    belay::List<std::int64_t> sizes{kTwoSizes};
    belay::List<belay::Str> words;
    belay::List<double> rates;
    belay::List<bool> flags;
    std::optional<std::int64_t> maybe;
    belay::Table table;
  };
  static constexpr auto about =
      belay::about("keeper", "Keeps options", belay::option("flag", &Options::flag, ""),
                   belay::option("number", &Options::number, ""), belay::option("tiny", &Options::tiny, ""),
                   belay::option("natural", &Options::natural, ""),
                   belay::option("rate", &Options::rate, "").range(0, 1), belay::option("ratio", &Options::ratio, ""),
                   belay::option("text", &Options::text, "").choices("unset", "red", "green"),
                   belay::option("file", &Options::file, ""), belay::option("sizes", &Options::sizes, "").min(1),
                   belay::option("words", &Options::words, ""), belay::option("rates", &Options::rates, ""),
                   belay::option("flags", &Options::flags, ""), belay::option("maybe", &Options::maybe, ""),
                   belay::option("table", &Options::table, ""));
  explicit Keeper(const Options& o) : options(o) { latest = this; }
  const Options options;
  static inline const Keeper* latest = nullptr;
};

class Demanding final : public belay::Hook {
 public:
  struct Options {
    belay::Str needed;
    belay::Table needed_table;
  };
  static constexpr auto about =
      belay::about("demanding", "Requires options", belay::option("needed", &Options::needed, "").required(),
                   belay::option("needed_table", &Options::needed_table, "").required());
  explicit Demanding(const Options&) {}
};

template <class T>
belay::HookHandle create(FakeHost& host, const OptionValues& options) {
  static constexpr belay_hook_api table = belay::detail::make_table<T>();
  return options.create(host, &table);
}
std::string error_with(const OptionValues& options) {
  FakeHost host;
  return error_of([&] { create<Keeper>(host, options); });
}

TEST(ParseOptions, DefaultsStayWhereNothingIsGiven) {
  FakeHost host;
  const auto handle = create<Keeper>(host, {});
  const Keeper::Options& o = Keeper::latest->options;
  EXPECT_TRUE(o.flag);
  EXPECT_EQ(o.number, 7);
  EXPECT_EQ(o.text, "unset");
  EXPECT_EQ(o.sizes.size(), 2u);
  EXPECT_TRUE(o.words.empty());
  EXPECT_FALSE(o.maybe.has_value());
  EXPECT_TRUE(o.table.empty());
}

// The arguments of create are gone by now; the instance has copies.
TEST(ParseOptions, GivenValuesLiveAsLongAsTheInstance) {
  FakeHost host;
  const std::string long_text(1000, 'x');
  const auto handle = create<Keeper>(host, {{"flag", false},
                                            {"number", std::numeric_limits<std::int64_t>::min()},
                                            {"tiny", -128},
                                            {"natural", 4294967295},
                                            {"rate", 1},
                                            {"ratio", 0.1},
                                            {"text", "green"},
                                            {"file", long_text},
                                            {"sizes", std::vector<int>{3, 4, 5}},
                                            {"words", std::vector<std::string>{"a", long_text, ""}},
                                            {"rates", std::vector<double>{0.5, 2}},
                                            {"flags", std::vector<bool>{true, false}},
                                            {"maybe", 0}});
  const Keeper::Options& o = Keeper::latest->options;
  EXPECT_FALSE(o.flag);
  EXPECT_EQ(o.number, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(o.tiny, -128);
  EXPECT_EQ(o.natural, 4294967295u);
  EXPECT_EQ(o.rate, 1.0);
  EXPECT_EQ(o.ratio, 0.1f);
  EXPECT_EQ(o.text, "green");
  EXPECT_EQ(o.file.string(), long_text);
  EXPECT_EQ(std::vector<std::int64_t>(o.sizes.begin(), o.sizes.end()), (std::vector<std::int64_t>{3, 4, 5}));
  ASSERT_EQ(o.words.size(), 3u);
  EXPECT_EQ(o.words[1].string(), long_text);
  EXPECT_TRUE(o.words[2].empty());
  EXPECT_EQ(o.rates[1], 2.0);
  EXPECT_TRUE(o.flags[0]);
  EXPECT_FALSE(o.flags[1]);
  EXPECT_EQ(o.maybe, 0);
}

TEST(ParseOptions, AnIntegerIsAFloatAndNotTheOtherWayRound) {
  FakeHost host;
  const auto handle = create<Keeper>(host, {{"rates", std::vector<int>{1, 2}}});
  EXPECT_EQ(Keeper::latest->options.rates[1], 2.0);
  EXPECT_EQ(error_with({{"number", 1.0}}), "INVALID_ARGUMENT: 'number' must be of type int");
}

TEST(ParseOptions, ATableTakesAllKeysBelowIt) {
  FakeHost host;
  const auto handle =
      create<Keeper>(host, {{"table.a", 1}, {"table.b.c", "text"}, {"table.rate", 0.5}, {"table.flag", true}});
  const belay::Table& t = Keeper::latest->options.table;
  ASSERT_EQ(t.size(), 4u);
  EXPECT_EQ(t.key(0), "a");
  EXPECT_EQ(t.number(0), 1.0);
  EXPECT_EQ(t.key(1), "b.c");
  EXPECT_EQ(t.text(1), "text");
  EXPECT_EQ(t.number(2), 0.5);
  EXPECT_EQ(t.number(3), 1.0);
  EXPECT_EQ(error_of([&] { t.number(1); }), "INVALID_ARGUMENT: 'b.c' must be a number");
  EXPECT_EQ(error_of([&] { t.text(0); }), "INVALID_ARGUMENT: 'a' must be a string");
}

TEST(ParseOptions, WrongValuesAreNamed) {
  struct Case {
    OptionValues options;
    const char* error;
  };
  for (const Case& c : {
           Case{{{"alpha", 1}}, "INVALID_ARGUMENT: 'alpha' is not an option of hook 'keeper'"},
           Case{{{"tablea", 1}}, "INVALID_ARGUMENT: 'tablea' is not an option of hook 'keeper'"},
           Case{{{"table", 1}}, "INVALID_ARGUMENT: 'table' is not an option of hook 'keeper'"},
           Case{{{"flag", 1}}, "INVALID_ARGUMENT: 'flag' must be of type bool"},
           Case{{{"text", 1}}, "INVALID_ARGUMENT: 'text' must be of type string"},
           Case{{{"file", 1}}, "INVALID_ARGUMENT: 'file' must be of type path"},
           Case{{{"rate", "x"}}, "INVALID_ARGUMENT: 'rate' must be of type float"},
           Case{{{"number", std::vector<int>{1}}}, "INVALID_ARGUMENT: 'number' must be of type int"},
           Case{{{"sizes", 1}}, "INVALID_ARGUMENT: 'sizes' must be of type int_list"},
           Case{{{"words", std::vector<int>{1}}}, "INVALID_ARGUMENT: 'words' must be of type string_list"},
           Case{{{"rate", 1.5}}, "INVALID_ARGUMENT: 'rate' is 1.5, must be <= 1"},
           Case{{{"rate", -1e-9}}, "INVALID_ARGUMENT: 'rate' is -1e-09, must be >= 0"},
           Case{{{"rate", std::numeric_limits<double>::quiet_NaN()}}, "INVALID_ARGUMENT: 'rate' is nan, must be >= 0"},
           Case{{{"rate", std::numeric_limits<double>::infinity()}}, "INVALID_ARGUMENT: 'rate' is inf, must be <= 1"},
           Case{{{"sizes", std::vector<int>{5, 0}}}, "INVALID_ARGUMENT: 'sizes' is 0, must be >= 1"},
           Case{{{"tiny", 128}}, "INVALID_ARGUMENT: 'tiny' is out of range: 128"},
           Case{{{"natural", -1}}, "INVALID_ARGUMENT: 'natural' is out of range: -1"},
           Case{{{"natural", 4294967296}}, "INVALID_ARGUMENT: 'natural' is out of range: 4294967296"},
           Case{{{"text", "blue"}}, "INVALID_ARGUMENT: 'text' is \"blue\", must be one of: unset, red, green"},
       })
    EXPECT_EQ(error_with(c.options), c.error);
}

TEST(ParseOptions, RequiredOnesMustBeGiven) {
  FakeHost host;
  EXPECT_EQ(error_of([&] {
              create<Demanding>(host, {{"needed_table.x", 1}});
            }),
            "INVALID_ARGUMENT: 'needed' is required");
  EXPECT_EQ(error_of([&] {
              create<Demanding>(host, {{"needed", "x"}});
            }),
            "INVALID_ARGUMENT: 'needed_table' is required");
  EXPECT_EQ(error_of([&] { create<Demanding>(host, {{"needed", "x"}, {"needed_table.x", 1}}); }), "");
}

// A host in another language may pass what no note allows.
TEST(ParseOptions, AListWhereOneValueBelongsIsRefused) {
  static constexpr belay_hook_api table = belay::detail::make_table<Keeper>();
  FakeHost host;
  const std::int64_t numbers[] = {1, 2};
  const belay_named_value two{belay::detail::str("number"), {BELAY_VALUE_INT, 0, 2, numbers}};
  EXPECT_EQ(error_of([&] { host.create(&table, {two}); }), "INVALID_ARGUMENT: 'number' must be of type int");
}

TEST(ParseOptions, NumberTextIsShort) {
  using belay::detail::number_text;
  for (const auto& [value, text] : {std::pair{1.0, "1"},
                                    {-10.0, "-10"},
                                    {100000.0, "100000"},
                                    {0.1, "0.1"},
                                    {1e30, "1e+30"},
                                    {-0.001, "-0.001"},
                                    {1e14, "100000000000000"}})
    EXPECT_EQ(number_text(value), text);
}

}  // namespace
