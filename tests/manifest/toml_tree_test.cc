// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/toml_tree.h"

#include <gtest/gtest.h>

namespace belay::runtime {
namespace {

std::string errors_of(const std::string& text) {
  Diagnostics problems;
  problems.add_source("f", text);
  parse_toml({"f", text}, problems);
  return problems.text();
}

TomlNode tree_of(const std::string& text) {
  Diagnostics problems;
  auto root = parse_toml({"f", text}, problems);
  EXPECT_EQ(problems.text(), "");
  return root.value();
}

const TomlEntry& entry(const TomlNode& node, std::string_view key) {
  return *find(std::get<TomlTable>(node.value), key);
}

std::string place(const Place& at) { return std::to_string(at.line) + ":" + std::to_string(at.column); }

TEST(TomlTree, KnowsThePlacesOfKeysAndValues) {
  const TomlNode root = tree_of("a = 1\r\n[run.x]\r\n  \"日本\" = 'y'\n z.w = [1, {k = 2}]\n[[hooks]]\np = 1\n");
  EXPECT_EQ(place(entry(root, "a").at), "1:1");
  EXPECT_EQ(place(entry(root, "a").node.at), "1:5");
  const TomlEntry& x = entry(entry(root, "run").node, "x");
  EXPECT_EQ(place(x.at), "2:6");
  EXPECT_EQ(place(x.node.at), "2:1");
  EXPECT_EQ(place(entry(x.node, "日本").at), "3:3");
  EXPECT_EQ(place(entry(x.node, "日本").node.at), "3:10");
  const TomlEntry& w = entry(entry(x.node, "z").node, "w");
  EXPECT_EQ(place(w.at), "4:4");
  EXPECT_EQ(place(w.node.at), "4:8");
  const auto& list = std::get<TomlList>(w.node.value);
  EXPECT_EQ(place(list[1].at), "4:12");
  EXPECT_EQ(place(std::get<TomlList>(entry(root, "hooks").node.value)[0].at), "5:1");
  EXPECT_EQ(w.node.at.location().file, "f");
}

TEST(TomlTree, KeepsTheOrderOfTheText) {
  const TomlNode root = tree_of("z = 1\na = 2\nm.b = 3\nb = 4\n");
  std::string order;
  for (const TomlEntry& e : std::get<TomlTable>(root.value)) order += e.key;
  EXPECT_EQ(order, "zamb");
}

TEST(TomlTree, TellsWhatStandsThere) {
  const TomlNode root = tree_of(
      "a = true\nb = -5\nc = 2.5\nd = 'x'\ne = 2020-01-02\nf = []\ng = {}\nh = 10:20:30\ni = 2020-01-02T10:20:30Z\n"
      "j = nan\nk = 'a string of more than forty characters, which is not shown'\n");
  const char* expected[] = {"true",
                            "-5",
                            "2.5",
                            "the string \"x\"",
                            "the date 2020-01-02",
                            "a list",
                            "a table",
                            "the date 10:20:30",
                            "the date 2020-01-02T10:20:30Z",
                            "nan",
                            "a long string"};
  std::size_t i = 0;
  for (const TomlEntry& e : std::get<TomlTable>(root.value)) EXPECT_EQ(found_text(e.node), expected[i++]);
}

TEST(TomlTree, LettersBeyondAsciiMayFollowALineEndingBackslash) {
  EXPECT_EQ(found_text(entry(tree_of("a = \"\"\"x\\\n  é\"\"\"\n"), "a").node), "the string \"xé\"");
}

TEST(TomlTree, SyntaxErrorsPointAtTheirCause) {
  const struct {
    std::string text, expected;
  } cases[] = {
      {"a = 1\na = 2\n", "f:2:1: error[B1009]: \"a\" is given twice\n  a = 2\n  ^\n  help: keep one of them\n"},
      {"[a]\nb = 1\n[a]\n",
       "f:3:1: error[B1009]: \"a\" is given twice\n  [a]\n  ^~~\n  help: put its keys below one header\n"},
      {"a.b = 1\na = 2\n", "f:2:1: error[B1009]: \"a\" is given twice\n  a = 2\n  ^\n  help: keep one of them\n"},
      {"a = 1\na.b = 2\n", "f:2:1: error[B1009]: this key is given twice, as a value and as a table\n  a.b = 2\n  ^\n"},
      {"a = 18446744073709551616\n",
       "f:1:5: error[B1008]: this integer is out of range\n  a = 18446744073709551616\n      ^~~~~~~~~~~~~~~~~~~~\n"
       "  help: integers are from -9223372036854775808 to 9223372036854775807\n"},
      {"name = adam\n",
       "f:1:8: error[B1007]: this is no value\n  name = adam\n         ^~~~\n"
       "  help: strings are written in quotes: \"adam\"\n"},
      {"a = tru\n",
       "f:1:5: error[B1007]: this is no value\n  a = tru\n      ^~~\n  help: strings are written in quotes: \"tru\"\n"},
      {"a = yes\n",
       "f:1:5: error[B1007]: this is no value\n  a = yes\n      ^~~\n  help: a boolean is true or false: true\n"},
      {"a = Off\n",
       "f:1:5: error[B1007]: this is no value\n  a = Off\n      ^~~\n  help: a boolean is true or false: false\n"},
      {"a = 1e999\n",
       "f:1:5: error[B1011]: syntax error (floating-point): '1e999' could not be interpreted as a value\n  a = 1e999\n"
       "      ^~~~~\n"},
      {"a = 20k\n", "f:1:5: error[B1008]: this is no number\n  a = 20k\n      ^~~\n  help: write it out: 20000\n"},
      {"a = [1, .5]\n",
       "f:1:9: error[B1008]: this is no number\n  a = [1, .5]\n          ^~\n  help: a digit comes before the point: "
       "0.5\n"},
      {"a = 1.\n",
       "f:1:5: error[B1008]: this is no number\n  a = 1.\n      ^~\n  help: a digit comes after the point: 1.0\n"},
      {"a = 020\n",
       "f:1:5: error[B1008]: this is no number\n  a = 020\n      ^~~\n  help: without a zero in front: 20\n"},
      {"a = 10s # b\n",
       "f:1:5: error[B1008]: this is no number\n  a = 10s # b\n      ^~~\n  help: without a unit: a time is a number "
       "of "
       "seconds\n"},
      {"a = 5;\n", "f:1:5: error[B1008]: this is no number\n  a = 5;\n      ^~\n  help: without the ';': 5\n"},
      {"a = 20,000\n",
       "f:1:7: error[B1011]: syntax error (key-value pair): expected a comment or whitespace, saw ','\n  a = 20,000\n  "
       "      "
       "^\n"
       "  help: numbers are written without a comma, 20000 and 0.5; several values in brackets: [1, 2]\n"},
      {"a = None\n",
       "f:1:5: error[B1007]: this is no value\n  a = None\n      ^~~~\n"
       "  help: there is no such value: take the key away if it needs no value\n"},
      {"a = (1, 2)\n",
       "f:1:5: error[B1007]: this is no value\n  a = (1, 2)\n      ^~\n  help: a list is written in brackets: [1, "
       "2]\n"},
      {"a = ${D}/x\n",
       "f:1:5: error[B1007]: this is no value\n  a = ${D}/x\n      ^~~\n  help: strings are written in quotes: "
       "\"${D}/x\"\n"},
      {"a = “x”\n",
       "f:1:5: error[B1007]: this is no value\n  a = “x”\n      ^~~\n  help: strings are written in quotes: \"x\"\n"},
      {"a == 1\n", "f:1:4: error[B1007]: this is no value\n  a == 1\n     ^\n  help: write key = value\n"},
      {"a: 20\n",
       "f:1:2: error[B1011]: syntax error (key-value pair): expected '=', saw ':'\n  a: 20\n   ^\n"
       "  help: write key = value\n"},
      {"a = [{ b: 1 }]\n",
       "f:1:9: error[B1011]: syntax error (key-value pair): expected '=', saw ':'\n  a = [{ b: 1 }]\n          ^\n"
       "  help: write key = value\n"},
      {"{\"run\": {}}\n",
       "f:1:1: error[B1011]: syntax error (root table): expected keys, tables, whitespace or comments, saw '{'\n"
       "  {\"run\": {}}\n  ^\n  help: a manifest is TOML: [run] above its keys, each a line key = value\n"},
      {"// x\n",
       "f:1:1: error[B1011]: syntax error (root table): expected keys, tables, whitespace or comments, saw '/'\n  // "
       "x\n  ^\n"
       "  help: a comment begins with #\n"},
      {"a = \"C:\\data\"\n",
       "f:1:8: error[B1011]: syntax error (string): unknown escape sequence '\\d'\n  a = \"C:\\data\"\n         "
       "^~~~~~\n"
       "  help: a \\ stays as it is in single quotes: 'a\\b'\n"},
      {"a = { b = 1,\n  c = 2 }\n",
       "f:1:13: error[B1011]: syntax error (inline table): expected key or closing '}', saw '\\n'\n  a = { b = 1,\n"
       "              ^\n  help: a table in braces is on one line; a longer one begins with [NAME.NAME] and has a key "
       "on "
       "each line\n"},
      {"a = [1, 2", "f:1:10: error[B1010]: unfinished array\n  a = [1, 2\n           ^\n"},
      {"a = \"x",
       "f:1:7: error[B1010]: unfinished string\n  a = \"x\n        ^\n"
       "  help: a string ends with the quotes that it begins with\n"},
      {"a = \"x\nb = 1\n",
       "f:1:7: error[B1010]: unfinished string\n  a = \"x\n        ^\n"
       "  help: a string ends with the quotes that it begins with\n"},
      {"a = 'x\nb = 1\n",
       "f:1:7: error[B1010]: unfinished literal string\n  a = 'x\n        ^\n"
       "  help: a string ends with the quotes that it begins with\n"},
      {"a = \n", "f:1:5: error[B1007]: a value is wanted here\n  a = \n      ^\n"},
      {"a b = 1\n",
       "f:1:3: error[B1011]: syntax error (key-value pair): expected '=', saw 'b'\n  a b = 1\n    ^\n"
       "  help: write key = value\n"},
      {"[{a = 1",
       "f:1:2: error[B1011]: syntax error (key): expected bare key starting character or string delimiter, saw '{'\n"
       "  [{a = 1\n   ^~~~~~\n"},
      {"a = [}", "f:1:6: error[B1007]: a value is wanted here\n  a = [}\n       ^\n"},
      {"é = 1\n",
       "f:1:1: error[B1011]: syntax error (root table): expected keys, tables, whitespace or comments, saw 'é'\n  é = "
       "1\n"
       "  ^\n"},
      {"a = 0'é\n", "f:1:5: error[B1008]: this is no number\n  a = 0'é\n      ^~~\n"},
      {"[run\n",
       "f:1:5: error[B1011]: syntax error (table header): expected ']', saw '\\n'\n  [run\n      ^\n"
       "  help: a section begins with [NAME] or [NAME.NAME]; each table of a list with [[NAME]]\n"},
      {"\"日本\" = x\n",
       "f:1:8: error[B1007]: this is no value\n  \"日本\" = x\n           ^\n"
       "  help: strings are written in quotes: \"x\"\n"},
      {"\xef\xbb\xbf"
       "a = x\n",
       "f:1:5: error[B1007]: this is no value\n  a = x\n      ^\n"
       "  help: strings are written in quotes: \"x\"\n"},
      {"a = \"\x1b\"\n",
       "f:1:6: error[B1011]: syntax error (string): unescaped control characters other than TAB (U+0009) are "
       "explicitly "
       "prohibited\n  a = \"\\x1b\"\n       ^~~~\n"},
  };
  for (const auto& c : cases) EXPECT_EQ(errors_of(c.text), c.expected);
}

}  // namespace
}  // namespace belay::runtime
