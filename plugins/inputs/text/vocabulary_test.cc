// SPDX-License-Identifier: Apache-2.0
#include "vocabulary.h"

#include <belay/testing/error_of.h>
#include <belay/testing/temporary_folder.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace text_input {
namespace {

using belay::testing::error_of;
using belay::testing::TemporaryFolder;

TEST(Vocabulary, IdsAreByCodePointWhateverTheOrderOfTheText) {
  Vocabulary one, two;
  one.add(U"banana\u00e9");
  two.add(U"\u00e9nb");
  two.add(U"aab");
  EXPECT_EQ(one.size(), 4);
  EXPECT_EQ(two.size(), 4);
  std::int32_t id = 0;
  for (const char32_t character : {U'a', U'b', U'n', U'\u00e9'}) {
    EXPECT_EQ(one.id_of(character), id);
    EXPECT_EQ(two.id_of(character), id++);
  }
  EXPECT_EQ(one.id_of(U'c'), std::nullopt);
  EXPECT_EQ(one.id_of(U'\U0010ffff'), std::nullopt);
}

TEST(Vocabulary, OfBytesHasAllOfThem) {
  const Vocabulary bytes = Vocabulary::of_bytes();
  EXPECT_EQ(bytes.size(), 256);
  EXPECT_EQ(bytes.id_of(0), 0);
  EXPECT_EQ(bytes.id_of(255), 255);
  EXPECT_EQ(bytes.id_of(256), std::nullopt);
}

TEST(Vocabulary, IsWrittenAsJson) {
  TemporaryFolder folder;
  Vocabulary vocabulary;
  vocabulary.add(U"\n \"\\a\u00e9");
  vocabulary.write("vocabulary_out", folder.file("v.json"));
  std::stringstream text;
  text << std::ifstream(folder.file("v.json")).rdbuf();
  EXPECT_EQ(text.str(), "[\"\\u000a\",\n\" \",\n\"\\\"\",\n\"\\\\\",\n\"a\",\n\"\u00e9\"]\n");
  EXPECT_FALSE(std::filesystem::exists(folder.file("v.json.tmp")));
}

TEST(Vocabulary, AFolderThatIsMissingIsAnError) {
  TemporaryFolder folder;
  const std::string path = folder.file("no/v.json");
  EXPECT_EQ(error_of([&] { Vocabulary::of_bytes().write("vocabulary_out", path); }),
            "INVALID_ARGUMENT: [B3033] vocabulary_out: '" + path + "' cannot be written: No such file or directory");
}

TEST(Vocabulary, ACharacterIsShownWithItsNumber) {
  EXPECT_EQ(shown(U'x'), "\"x\" (U+0078)");
  EXPECT_EQ(shown(U'\u20ac'), "\"\u20ac\" (U+20AC)");
  EXPECT_EQ(shown(U'\t'), "U+0009");
}

}  // namespace
}  // namespace text_input
