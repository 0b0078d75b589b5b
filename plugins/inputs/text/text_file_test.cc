// SPDX-License-Identifier: Apache-2.0
#include "text_file.h"

#include <belay/testing/error_of.h>
#include <belay/testing/temporary_folder.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

namespace text_input {
namespace {

using belay::testing::error_of;
using belay::testing::TemporaryFolder;

std::u32string part(const TextFiles& text, std::int64_t first, std::int64_t n) {
  std::u32string all;
  text.for_each(first, n, [&](char32_t character) { all.push_back(character); });
  return all;
}

std::u32string read(const std::string& bytes, Units units = Units::kCharacters) {
  TemporaryFolder folder;
  const TextFiles text("files", {folder.write("a.txt", bytes)}, units);
  return part(text, 0, text.size());
}

TEST(TextFile, ReadsCharactersOfEveryLength) {
  const struct {
    std::string bytes;
    std::u32string text;
  } cases[] = {
      {"", U""},
      {"a\r\n\tb", U"a\r\n\tb"},
      {"\x7f\xc2\x80\xdf\xbf", U"\u007f\u0080\u07ff"},
      {"\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf", U"\u0800\ud7ff\ue000\uffff"},
      {"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", U"\U00010000\U0010ffff"},
      {"\xef\xbb\xbfx\xef\xbb\xbf", U"x\ufeff"},  // it is a mark only at the start
      {std::string("\0a", 2), std::u32string(U"\0a", 2)},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(read(c.bytes), c.text) << c.bytes;
    std::string again;
    for (const char32_t character : c.text) again += utf8(character);
    EXPECT_EQ(read(again), c.text);
  }
}

TEST(TextFile, ReadsBytes) {
  EXPECT_EQ(read("\xef\xbb\xbf\xff"
                 "a",
                 Units::kBytes),
            std::u32string(U"\u00ef\u00bb\u00bf\u00ff"
                           U"a"));
}

TEST(TextFile, BytesThatAreNoCharacterAreNamed) {
  const struct {
    std::string bytes;
    int column;
    const char* byte;
  } cases[] = {
      {"ab\xff", 3, "2 of the file (0xff)"},
      {"\x80", 1, "0 of the file (0x80)"},              // a continuation without a start
      {"a\xc3", 2, "1 of the file (0xc3)"},             // cut short
      {"\xc3(", 1, "0 of the file (0xc3)"},             // without its continuation
      {"\xc0\xaf", 1, "0 of the file (0xc0)"},          // overlong
      {"\xe0\x80\xaf", 1, "0 of the file (0xe0)"},      // the same with three bytes
      {"\xf0\x80\x80\xaf", 1, "0 of the file (0xf0)"},  // and with four
      {"\xed\xa0\x80", 1, "0 of the file (0xed)"},      // half of a pair
      {"\xf4\x90\x80\x80", 1, "0 of the file (0xf4)"},  // above the last code point
      {"\xf5\x80\x80\x80", 1, "0 of the file (0xf5)"},
  };
  TemporaryFolder folder;
  for (const auto& c : cases) {
    const std::string path = folder.write("a.txt", c.bytes);
    EXPECT_EQ(error_of([&] { TextFiles("files", {path}, Units::kCharacters); }),
              "INVALID_ARGUMENT: [B3032] files: " + path + ":1:" + std::to_string(c.column) +
                  ": this is no UTF-8: byte " + c.byte +
                  " begins no character; convert it (iconv -t UTF-8), or set units = \"bytes\"");
  }
  const std::string path = folder.write("a.txt", "\xef\xbb\xbfone\n\u00e9\u00e9\xff");
  EXPECT_EQ(error_of([&] { TextFiles("files", {path}, Units::kCharacters); }),
            "INVALID_ARGUMENT: [B3032] files: " + path +
                ":2:3: this is no UTF-8: byte 11 of the file (0xff) begins no character; convert it (iconv -t UTF-8), "
                "or set units = \"bytes\"");
}

// The text is long enough for several marks. Runs of characters of one byte and of several bytes alternate.
TEST(TextFile, T_44b_CharactersAreFoundByTheirNumber) {
  std::mt19937 random(7);
  std::u32string all;
  while (all.size() < 5000) {
    const std::size_t run = random() % 200;
    const char32_t from = random() % 2 == 0 ? U'a' : random() % 2 == 0 ? U'\u03b1' : U'\U0001f600';
    for (std::size_t i = 0; i < run; ++i) all.push_back(from + static_cast<char32_t>(random() % 20));
  }
  TemporaryFolder folder;
  std::vector<std::string> paths;
  for (std::size_t at = 0; at < all.size(); at += 1231) {
    std::string bytes = paths.size() == 1 ? "\xef\xbb\xbf" : "";
    for (const char32_t character : all.substr(at, 1231)) bytes += utf8(character);
    paths.push_back(folder.write(std::to_string(at), bytes));
  }
  const TextFiles text("files", paths, Units::kCharacters);
  ASSERT_EQ(text.size(), static_cast<std::int64_t>(all.size()));
  for (std::int64_t first = 0; first + 70 <= text.size(); ++first)
    ASSERT_EQ(part(text, first, 70), all.substr(static_cast<std::size_t>(first), 70)) << first;
  const std::set<char32_t> occur(all.begin(), all.end());
  EXPECT_EQ(text.characters(), std::u32string(occur.begin(), occur.end()));
}

TEST(TextFile, APlaceIsAFileALineAndACharacter) {
  TemporaryFolder folder;
  const std::string one = folder.write("one", "a\nb\n"), two = folder.write("two", "c\n\u00e9\u00e8a\n");
  const TextFiles text("files", {one, two}, Units::kCharacters);
  EXPECT_EQ(text.place_of(U'b'), one + ":2:1");
  EXPECT_EQ(text.place_of(U'c'), two + ":1:1");
  EXPECT_EQ(text.place_of(U'\u00e8'), two + ":2:2");
}

TEST(TextFile, ACompressedFileSaysHowToUnpackIt) {
  TemporaryFolder folder;
  const std::string path = folder.write("a.txt.gz", "\x1f\x8b\x08");
  EXPECT_EQ(error_of([&] { TextFiles("files", {path}, Units::kCharacters); }),
            "INVALID_ARGUMENT: [B3022] files: '" + path + "' is compressed; unpack it first (gunzip -k)");
}

TEST(TextFile, GarbageIsAnErrorAndNeverACrash) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::string bytes;
    for (std::size_t i = random() % 12; i > 0; --i) bytes.push_back(static_cast<char>(random() % 256));
    error_of([&] { read(bytes); });
  }
}

}  // namespace
}  // namespace text_input
