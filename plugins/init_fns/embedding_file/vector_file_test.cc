// SPDX-License-Identifier: Apache-2.0
#include "plugins/init_fns/embedding_file/vector_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

namespace embedding_file {
namespace {

using belay::testing::error_of;
using ::testing::HasSubstr;

using Vectors = std::map<std::string, std::vector<float>>;

class VectorFile : public ::testing::Test {
 protected:
  // Reads the vectors of all tokens but "skipped".
  Vectors read(const std::string& bytes, VectorFormat format, std::int64_t width = 2) {
    folder_.write("v", bytes);
    Vectors all;
    counts_ = read_vectors(path_, format, width, [&](std::string_view token) -> float* {
      if (token == "skipped") return nullptr;
      std::vector<float>& row = all[std::string(token)];
      row.resize(static_cast<std::size_t>(width));
      return row.data();
    });
    return all;
  }
  std::string error(const std::string& bytes, VectorFormat format, std::int64_t width = 2) {
    return error_of([&] { read(bytes, format, width); });
  }
  static std::string binary(const std::string& first_line, const Vectors& vectors, const std::string& end = "\n") {
    std::string bytes = first_line + "\n";
    for (const auto& [token, row] : vectors) {
      bytes += token + " ";
      bytes.append(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float));
      bytes += end;
    }
    return bytes;
  }

  belay::testing::TemporaryFolder folder_;
  const std::string path_ = folder_.file("v");
  const std::string at_ = "path: '" + path_ + "' ";
  VectorCounts counts_;
};

TEST_F(VectorFile, GloveHasALineForEachToken) {
  EXPECT_EQ(read("the 0.5 -1e-3\n, 2 3\nskipped 9 9", VectorFormat::kGlove),
            (Vectors{{"the", {0.5f, -0.001f}}, {",", {2, 3}}}));
  EXPECT_EQ(counts_.tokens, 3);
}

TEST_F(VectorFile, ATokenMayHaveSpacesAndLinesMayEndAsWindowsHasThem) {
  EXPECT_EQ(read("the 1 2\r\nat name@domain.com 3 4\r\n. . 5 6\r\n", VectorFormat::kGlove),
            (Vectors{{"the", {1, 2}}, {"at name@domain.com", {3, 4}}, {". .", {5, 6}}}));
}

TEST_F(VectorFile, Word2vecTextHasALineOfCountsBefore) {
  const Vectors wanted{{"the", {1, 2}}, {"cat", {3, 4}}};
  EXPECT_EQ(read("2 2\nthe 1 2\ncat 3 4\n", VectorFormat::kWord2vecText), wanted);
  // word2vec itself ends its lines so.
  EXPECT_EQ(read("2 2\nthe 1 2 \ncat 3 4 \n", VectorFormat::kWord2vecText), wanted);
}

TEST_F(VectorFile, Word2vecBinaryWithAndWithoutLineEnds) {
  const Vectors wanted{{"the", {1.25f, -2}}, {"\xc3\xa9t\xc3\xa9", {3, 4}}};
  EXPECT_EQ(read(binary("2 2", wanted), VectorFormat::kWord2vecBinary), wanted);
  EXPECT_EQ(read(binary("2 2", wanted, ""), VectorFormat::kWord2vecBinary), wanted);
  EXPECT_EQ(counts_.tokens, 2);
}

TEST_F(VectorFile, ALineWithTooFewOrTooManyNumbersIsRefusedWithItsNumber) {
  EXPECT_EQ(error("the 1 2\ncat 3\n", VectorFormat::kGlove),
            "DATA_LOSS: " + at_ + "line 2 has 1 of the 2 numbers that belong after a token: \"cat 3\"");
  EXPECT_EQ(error("the 1 2\n\ncat 3 4\n", VectorFormat::kGlove),
            "DATA_LOSS: " + at_ + "line 2 has 0 of the 2 numbers that belong after a token: \"\"");
  EXPECT_EQ(error("2 2\nthe 1 2\ncat 3 4 5\n", VectorFormat::kWord2vecText),
            "DATA_LOSS: " + at_ + "line 3 has more than 2 numbers after its token: \"cat 3 4 5\"");
}

TEST_F(VectorFile, WhatIsNoFiniteNumberIsRefusedWithItsLine) {
  for (const char* wrong : {"x", "nan", "inf", "1e999", "0x1", "1,5", ""})
    EXPECT_EQ(error("the 1 2\ncat 3 " + std::string(wrong) + " \nend 1 2\n", VectorFormat::kGlove, 2),
              *wrong == 0
                  ? "DATA_LOSS: " + at_ + "line 2 has 1 of the 2 numbers that belong after a token: \"cat 3\""
                  : "DATA_LOSS: " + at_ + "line 2 has \"" + wrong + "\" as number 2, which is no finite number");
}

TEST_F(VectorFile, TheNumberOfTokensMustBeAsTheFirstLineSays) {
  const std::string end = "; it was cut short or changed, fetch it again";
  EXPECT_EQ(error("3 2\nthe 1 2\ncat 3 4\n", VectorFormat::kWord2vecText),
            "DATA_LOSS: " + at_ + "has 2 tokens, but its first line promises 3" + end);
  EXPECT_EQ(error("1 2\nthe 1 2\ncat 3 4\n", VectorFormat::kWord2vecText),
            "DATA_LOSS: " + at_ + "has 2 tokens, but its first line promises 1" + end);
  EXPECT_THAT(error(binary("1 2", {{"a", {1, 2}}, {"b", {1, 2}}}), VectorFormat::kWord2vecBinary),
              HasSubstr("has 11 more bytes after its 1 tokens"));
}

TEST_F(VectorFile, ABinaryFileThatWasCutIsRefusedWithTokenAndByte) {
  const std::string whole = binary("2 2", {{"cat", {1, 2}}, {"the", {3, 4}}});
  for (std::size_t size = 4; size + 1 < whole.size(); ++size) {
    const bool first = size < 16;
    EXPECT_EQ(error(whole.substr(0, size), VectorFormat::kWord2vecBinary),
              "DATA_LOSS: " + at_ + "is damaged or cut short at token " +
                  (first        ? "1 (byte 4)"
                   : size == 16 ? "2 (byte 16)"
                                : "2 (byte 17)") +
                  " of 2; fetch it again, or is the format \"word2vec_text\"?")
        << size;
  }
  EXPECT_THAT(error(binary("1 2", {{"cat", {1, INFINITY}}}), VectorFormat::kWord2vecBinary),
              HasSubstr("is damaged at token 1 (byte 4), \"cat\": number 2 is not finite; fetch it again"));
}

TEST_F(VectorFile, AnotherFormatOrWidthIsNamed) {
  EXPECT_THAT(
      error("the 1 2\n", VectorFormat::kWord2vecText),
      HasSubstr("line 1 is \"the 1 2\", not the number of tokens and of their numbers; is the format \"glove\"?"));
  EXPECT_THAT(error("2 300\nthe 1 2\n", VectorFormat::kGlove),
              HasSubstr("line 1 is \"2 300\", as word2vec's files begin; set format = \"word2vec_text\""));
  for (const VectorFormat format : {VectorFormat::kWord2vecText, VectorFormat::kWord2vecBinary})
    EXPECT_THAT(error("2 3\n", format), HasSubstr("has vectors of 3 numbers, the rows of the variable have 2"));
  EXPECT_THAT(error("the 1 2 3\n", VectorFormat::kGlove), HasSubstr("has vectors of 3 numbers"));
  EXPECT_THAT(error("\x1f\x8b\x08", VectorFormat::kGlove), HasSubstr("is compressed; unpack it"));
  EXPECT_THAT(error("PK\3\4", VectorFormat::kGlove), HasSubstr("is compressed; unpack it"));
  EXPECT_EQ(error("", VectorFormat::kGlove), "FAILED_PRECONDITION: " + at_ + "is empty");
}

TEST_F(VectorFile, CountsThatNoFileCanHoldAreRefused) {
  EXPECT_THAT(error("9223372036854775807 2\nthe 1 2\n", VectorFormat::kWord2vecText), HasSubstr("has 1 tokens"));
  EXPECT_THAT(error("9223372036854775807 2\n", VectorFormat::kWord2vecBinary), HasSubstr("cut short at token 1"));
  EXPECT_THAT(error("-1 2\n", VectorFormat::kWord2vecText), HasSubstr("line 1 is \"-1 2\""));
  EXPECT_THAT(error("99999999999999999999 2\n", VectorFormat::kWord2vecText), HasSubstr("line 1 is"));
}

TEST_F(VectorFile, ATokenThatComesAgainIsCountedAndTheFirstKept) {
  EXPECT_EQ(read("a 1 2\nb 3 4\na 5 6\nskipped 0 0\nskipped 1 1\nb 7 8\n", VectorFormat::kGlove),
            (Vectors{{"a", {1, 2}}, {"b", {3, 4}}}));
  EXPECT_EQ(counts_.tokens, 6);
  EXPECT_EQ(counts_.repeated, 2);
  EXPECT_EQ(counts_.first_repeated, "\"a\" at line 3");
}

}  // namespace
}  // namespace embedding_file
