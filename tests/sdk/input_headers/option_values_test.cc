// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>
#include <belay/testing/error_of.h>
#include <belay/testing/option_values.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace {

using belay::testing::error_of;
using belay::testing::FakeHost;
using belay::testing::OptionValues;

// Keeps its options from creation, and reports them when it is opened.
class Echo final : public belay::Input {
 public:
  struct Options {
    bool flag = false;
    std::int64_t whole = 0;
    double real = 0;
    belay::Str text = "";
    belay::List<std::int64_t> wholes;
    belay::List<double> reals;
    belay::List<bool> flags;
    belay::List<belay::Str> texts;
    belay::Table table;
  };
  static constexpr auto about =
      belay::about("echo", "Says its options", belay::option("flag", &Options::flag, ""),
                   belay::option("whole", &Options::whole, ""), belay::option("real", &Options::real, ""),
                   belay::option("text", &Options::text, ""), belay::option("wholes", &Options::wholes, ""),
                   belay::option("reals", &Options::reals, ""), belay::option("flags", &Options::flags, ""),
                   belay::option("texts", &Options::texts, ""), belay::option("table", &Options::table, ""));
  explicit Echo(const Options& o) : o_(o) {}
  void spec(belay::InputSpec&) override {}
  void open(const belay::OpenArgs&) override {
    std::string text = std::to_string(o_.flag) + " " + std::to_string(o_.whole) + " " +
                       std::to_string(static_cast<int>(o_.real * 10)) + " " + o_.text.string();
    for (const std::int64_t v : o_.wholes) text += " " + std::to_string(v);
    for (const double v : o_.reals) text += " " + std::to_string(static_cast<int>(v * 10));
    for (const bool v : o_.flags) text += " " + std::to_string(v);
    for (const belay::Str& v : o_.texts) text += " " + v.string();
    for (std::size_t i = 0; i < o_.table.size(); ++i)
      text += " " + std::string(o_.table.key(i)) + "=" + std::to_string(static_cast<int>(o_.table.number(i)));
    host().info(text);
  }
  bool next(belay::Batch&, belay::Position&) override { return false; }
  void seek(const belay::Position&) override {}

 private:
  Options o_;
};

constexpr belay_input_api kEcho = belay::detail::make_table<Echo>();

std::string echo_of(const OptionValues& options) {
  FakeHost host;
  const auto handle = options.create(host, &kEcho);
  EXPECT_EQ(handle.table()->open(handle.self(), 0, 1, 0, nullptr), BELAY_OK);
  return host.logged().at(0);
}

TEST(OptionValues, EveryKindReachesThePlugin) {
  EXPECT_EQ(echo_of({}), "info: 0 0 0 ");
  EXPECT_EQ(echo_of({{"flag", true}, {"whole", -7}, {"real", 2.5}, {"text", "hello"}}), "info: 1 -7 25 hello");
  EXPECT_EQ(echo_of({{"real", 3}}), "info: 0 0 30 ");
  EXPECT_EQ(echo_of({{"wholes", std::vector<int>{1, 2}},
                     {"reals", std::vector<double>{0.5}},
                     {"flags", std::vector<bool>{true, false}},
                     {"texts", std::vector<std::string>{"a", "b"}}}),
            "info: 0 0 0  1 2 5 1 0 a b");
  EXPECT_EQ(echo_of({{"wholes", std::vector<int>{}}}), "info: 0 0 0 ");
  EXPECT_EQ(echo_of({{"table.a", 1}, {"table.b.c", 2}}), "info: 0 0 0  a=1 b.c=2");
}

TEST(OptionValues, WithSetsOrReplacesOne) {
  const OptionValues options = {{"whole", 1}};
  EXPECT_EQ(echo_of(options.with({"whole", 2})), "info: 0 2 0 ");
  EXPECT_EQ(echo_of(options.with({"text", "t"})), "info: 0 1 0 t");
  EXPECT_EQ(echo_of(options), "info: 0 1 0 ");
}

TEST(OptionValues, WhatCreateThrowsComesOut) {
  EXPECT_EQ(error_of([] { echo_of({{"whole", "one"}}); }), "INVALID_ARGUMENT: 'whole' must be of type int");
}

}  // namespace
