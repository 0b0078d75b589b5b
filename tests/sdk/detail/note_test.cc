// SPDX-License-Identifier: Apache-2.0
#include "belay/detail/note.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "belay/module.h"

namespace {

using belay::detail::NoteWriter;

std::string written(const std::function<void(NoteWriter&)>& write) {
  NoteWriter count(nullptr);
  write(count);
  std::string text(count.size(), '?');
  NoteWriter w(text.data());
  write(w);
  EXPECT_EQ(w.size(), count.size());
  return text;
}

TEST(Note, NumbersReadAsPeopleWriteThem) {
  struct Case {
    double value;
    const char* text;
  };
  for (const Case& c : {Case{0, "0"},
                        {-0.0, "0"},
                        {1, "1"},
                        {-10, "-10"},
                        {0.1, "0.1"},
                        {0.001, "0.001"},
                        {-0.96, "-0.96"},
                        {2.5e6, "2500000"},
                        {1e-8, "0.00000001"},
                        {1e-10, "1e-10"},
                        {1e15, "1000000000000000"},
                        {1e16, "1e16"},
                        {1e30, "1e30"},
                        {123456789, "123456789"},
                        {65504, "65504"}})
    EXPECT_EQ(written([&](NoteWriter& w) { w.number(c.value); }), c.text);
}

TEST(Note, NumbersThatPeopleWriteReadBack) {
  for (int mantissa = 1; mantissa < 1000; mantissa += 7)
    for (int exponent = -15; exponent <= 15; ++exponent) {
      const double value = std::strtod((std::to_string(mantissa) + "e" + std::to_string(exponent)).c_str(), nullptr);
      const std::string text = written([&](NoteWriter& w) { w.number(value); });
      EXPECT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
    }
}

TEST(Note, FloatsNeedNoMoreDigitsThanAFloatHas) {
  for (const auto& [value, text] : {std::pair{0.1f, "0.1"}, {0.3f, "0.3"}, {1e-4f, "0.0001"}, {16777216.f, "16777216"}})
    EXPECT_EQ(written([&, v = value](NoteWriter& w) { w.number(static_cast<double>(v), true); }), text);
}

TEST(Note, IntegersReachBothEnds) {
  EXPECT_EQ(written([](NoteWriter& w) { w.integer(std::numeric_limits<std::int64_t>::min()); }),
            "-9223372036854775808");
  EXPECT_EQ(written([](NoteWriter& w) { w.integer(std::numeric_limits<std::int64_t>::max()); }), "9223372036854775807");
  EXPECT_EQ(written([](NoteWriter& w) { w.integer(0); }), "0");
}

TEST(Note, TextsAreEscaped) {
  EXPECT_EQ(written([](NoteWriter& w) { w.text("a\"b\\c\nd\x01 é"); }), "\"a\\\"b\\\\c\\u000ad\\u0001 é\"");
}

TEST(Note, PluginNamesFollowOneRule) {
  using belay::detail::is_plugin_name;
  for (const char* good :
       {"a", "ema", "my-hook_2", "acme.ema", "a23456789012345678901234567890123456789012345678901234567890123"})
    EXPECT_TRUE(is_plugin_name(good)) << good;
  for (const char* bad : {"", "A", "1a", "_a", "../x", "a b", "a.b.c", ".a", "a.", "é",
                          "a2345678901234567890123456789012345678901234567890123456789012345"})
    EXPECT_FALSE(is_plugin_name(bad)) << bad;
  EXPECT_FALSE(is_plugin_name(std::string_view("a\0b", 3)));
}

constexpr belay::Str kColours[] = {"red", "green"};
constexpr std::int64_t kSizes[] = {128, 64};

class Everything final : public belay::Hook {
 public:
  struct Options {
    bool flag = true;
    int small = -3;
    double rate = 0.5;
    belay::Str text = "a \"b\"";
    belay::Path file;
    belay::List<std::int64_t> sizes{kSizes};
    belay::List<belay::Str> colours{kColours};
    belay::List<bool> none;
    std::optional<std::int64_t> unset;
    std::optional<double> set = 2.5;
    belay::Table table;
    belay::Table layers;
  };
  static constexpr auto about =
      belay::about("everything", "Has an option of every kind", belay::option("flag", &Options::flag, "a flag"),
                   belay::option("small", &Options::small, "a number").range(-5, 5),
                   belay::option("rate", &Options::rate, "a rate").min(0),
                   belay::option("text", &Options::text, "a text").choices("a \"b\"", "c"),
                   belay::option("file", &Options::file, "a file").required(),
                   belay::option("sizes", &Options::sizes, "sizes").max(1024),
                   belay::option("colours", &Options::colours, "colours"),
                   belay::option("none", &Options::none, "none"), belay::option("unset", &Options::unset, "unset"),
                   belay::option("set", &Options::set, "set"), belay::option("table", &Options::table, "table"),
                   belay::option("layers", &Options::layers, "layers").example("[{ type = \"a\" }]"),
                   belay::option<belay::Str>("layers[].type", "type").choices("a", "b").required(),
                   belay::option<belay::List<float>>("layers[].rate", "rate")
                       .or_single()
                       .min(0.1)
                       .example(0.3, 1)
                       .when("type", "a", "b"),
                   belay::option<bool>("layers[].deep.*.flag", "flag").by_default(true));
  explicit Everything(const Options&) {}
  void begin(belay::Graph&) override {}
  void save_state(belay::StateWriter&) const override {}
};
class Reader final : public belay::Input {
 public:
  struct Options {
    belay::Path file;
    std::int64_t threads = 1;
  };
  static constexpr auto about =
      belay::about("reader", "Reads a file",
                   belay::option("file", &Options::file, "a file").required().example_file("a.bin", "a\"\n\0\x7f\x93"),
                   belay::option("threads", &Options::threads, "threads").watching().example(2));
  explicit Reader(const Options&) {}
  void spec(belay::InputSpec&) override {}
  void open(const belay::OpenArgs&) override {}
  bool next(belay::Batch&, belay::Position&) override { return false; }
  void seek(const belay::Position&) override {}
  std::int64_t size() const override { return 0; }
};
class Plain final : public belay::InitFn {
 public:
  static constexpr auto about = belay::about("plain", "Has no options");
  void run(belay::Graph&, belay::Session&) override {}
};

TEST(Note, IsTheWholeDeclaration) {
  using Module = belay::detail::Module<Everything, Plain>;
  static constexpr auto bytes = Module::note<Module::note_size("1.2.3")>("1.2.3");
  const std::string text(bytes.text, bytes.text_size);
  const std::size_t plugins = text.find("\"plugins\":");
  ASSERT_NE(plugins, std::string::npos);
  EXPECT_EQ(text.substr(0, 33), "{\"abi\":[0,4],\"version\":\"1.2.3\",\"t");
  EXPECT_EQ(text.substr(plugins),
            R"("plugins":[{"kind":"hook","name":"everything","doc":"Has an option of every kind",)"
            R"("uses":["begin","save_state"],"state":true,"options":[)"
            R"({"name":"flag","type":"bool","default":true,"help":"a flag"},)"
            R"({"name":"small","type":"int","default":-3,"min":-5,"max":5,"help":"a number"},)"
            R"({"name":"rate","type":"float","default":0.5,"min":0,"help":"a rate"},)"
            R"({"name":"text","type":"string","default":"a \"b\"","choices":["a \"b\"","c"],"help":"a text"},)"
            R"({"name":"file","type":"path","required":true,"help":"a file"},)"
            R"({"name":"sizes","type":"int_list","default":[128,64],"max":1024,"help":"sizes"},)"
            R"({"name":"colours","type":"string_list","default":["red","green"],"help":"colours"},)"
            R"({"name":"none","type":"bool_list","default":[],"help":"none"},)"
            R"({"name":"unset","type":"int","help":"unset"},)"
            R"({"name":"set","type":"float","default":2.5,"help":"set"},)"
            R"({"name":"table","type":"table","help":"table"},)"
            R"({"name":"layers","type":"table","example":"[{ type = \"a\" }]","help":"layers"},)"
            R"({"name":"layers[].type","type":"string","required":true,"choices":["a","b"],"help":"type"},)"
            R"({"name":"layers[].rate","type":"float_list","min":0.1,"single":true,"when":{"type":["a","b"]},)"
            R"("example":[0.3,1],"help":"rate"},)"
            R"({"name":"layers[].deep.*.flag","type":"bool","default":true,"help":"flag"}]},)"
            R"({"kind":"init_fn","name":"plain","doc":"Has no options","options":[]}]})");
}

TEST(Note, N_08b_SaysWhichCallbacksAClassHasAndTheBytesOfAnExampleFile) {
  using Module = belay::detail::Module<Reader>;
  static constexpr auto bytes = Module::note<Module::note_size("1")>("1");
  const std::string text(bytes.text, bytes.text_size);
  EXPECT_EQ(text.substr(text.find("\"plugins\":")),
            R"("plugins":[{"kind":"input","name":"reader","doc":"Reads a file","uses":["size"],"options":[)"
            R"({"name":"file","type":"path","required":true,"example":"a.bin",)"
            R"("example_file":"a\"\u000a\u0000\u007f\u0093","help":"a file"},)"
            R"({"name":"threads","type":"int","default":1,"example":2,"watching":true,"help":"threads"}]}]})");
}

TEST(Note, HasTheLayoutOfAnElfNote) {
  using Module = belay::detail::Module<Plain>;
  static constexpr auto bytes = Module::note<Module::note_size("1")>("1");
  EXPECT_EQ(bytes.name_size, 6u);
  EXPECT_EQ(bytes.type, static_cast<std::uint32_t>(BELAY_NOTE_TYPE));
  EXPECT_EQ(std::memcmp(bytes.name, "BELAY\0\0\0", 8), 0);
  EXPECT_EQ(sizeof(bytes), 20 + (bytes.text_size + 3) / 4 * 4);
}

}  // namespace
