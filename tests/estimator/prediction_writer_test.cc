// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/prediction/prediction_writer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "tests/estimator/prediction_fixture.h"
#include "tests/platform/faulty_file_system.h"

namespace belay::runtime::testing {
namespace {

constexpr PredictionFormat kJson = PredictionFormat::kJsonLines, kCsv = PredictionFormat::kCsv;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

class JsonLines : public WriterTest {};
class Csv : public WriterTest {};

const Synthetic& two_digits() {
  static const Synthetic batch({{"probabilities", Tensor({2, 3}, {0.25f, 0.5f, 0.1f, 1e-7f, 1.0f, -3e20f})},
                                {"class", Tensor({2}, std::vector<std::int64_t>{1, 9007199254740993})}});
  return batch;
}

TEST_F(JsonLines, AreAnObjectAnExampleWithARunningIndex) {
  EXPECT_EQ(written(kJson, {&two_digits(), &two_digits()}),
            "{\"index\":0,\"probabilities\":[0.25,0.5,0.1],\"class\":1}\n"
            "{\"index\":1,\"probabilities\":[1e-07,1,-3e+20],\"class\":9007199254740993}\n"
            "{\"index\":2,\"probabilities\":[0.25,0.5,0.1],\"class\":1}\n"
            "{\"index\":3,\"probabilities\":[1e-07,1,-3e+20],\"class\":9007199254740993}\n");
  EXPECT_EQ(totals.examples, 4);
  EXPECT_EQ(remark_of(totals), "");
}

TEST_F(JsonLines, HaveTheInputsIdsInsteadOfTheIndex) {
  const Synthetic by_text({{"y", Tensor({2}, {1.5f, 2.5f})}}, texts({"a/1.png", "b \"2\""}));
  const Synthetic by_number({{"y", Tensor({1}, {1.5})}}, Tensor({1}, std::vector<std::int64_t>{-7}));
  EXPECT_EQ(written(kJson, {&by_text, &by_number}),
            "{\"id\":\"a/1.png\",\"y\":1.5}\n{\"id\":\"b \\\"2\\\"\",\"y\":2.5}\n{\"id\":-7,\"y\":1.5}\n");
}

TEST_F(JsonLines, LeaveTheNameToAPredictionThatHasIt) {
  const Synthetic index({{"index", Tensor({1}, {1.5f})}});
  EXPECT_EQ(written(kJson, {&index}), "{\"index\":1.5}\n");
  const Synthetic id({{"id", Tensor({1}, {1.5f})}}, Tensor({1}, std::vector<std::int64_t>{7}));
  EXPECT_EQ(written(kJson, {&id}), "{\"id\":1.5}\n");
}

TEST_F(JsonLines, HaveNullForWhatJsonCannotSayAndCountIt) {
  const Synthetic batch({{"a", Tensor({1, 4}, {kNan, kInfinity, -kInfinity, 1.0f})},
                         {"b", Tensor({1}, {std::numeric_limits<double>::quiet_NaN()})}});
  EXPECT_EQ(written(kJson, {&batch}), "{\"index\":0,\"a\":[null,null,null,1],\"b\":null}\n");
  EXPECT_EQ(totals.not_finite, 4);
  EXPECT_EQ(remark_of(totals), "4 numbers are not finite and were written as null");
  const Synthetic one({{"a", Tensor({1}, {kNan})}});
  written(kJson, {&one});
  EXPECT_EQ(remark_of(totals), "1 number is not finite and was written as null");
}

TEST_F(JsonLines, EscapeTexts) {
  const Synthetic batch({{"t\n", texts({"a\"b\\c\n\t\x01\x7f", "\xc2\x9b[2J", "käse €😀", std::string("\0", 1), ""})}});
  EXPECT_EQ(written(kJson, {&batch}),
            "{\"index\":0,\"t\\u000a\":\"a\\\"b\\\\c\\u000a\\u0009\\u0001\\u007f\"}\n"
            "{\"index\":1,\"t\\u000a\":\"\\u009b[2J\"}\n"
            "{\"index\":2,\"t\\u000a\":\"käse €😀\"}\n"
            "{\"index\":3,\"t\\u000a\":\"\\u0000\"}\n"
            "{\"index\":4,\"t\\u000a\":\"\"}\n");
}

TEST_F(JsonLines, ReplaceBytesThatAreNoUtf8AndCountThem) {
  const Synthetic batch({{"t", texts({"a\xff\xc3", "\xed\xa0\x80"})}});
  const std::string text = written(kJson, {&batch});
  EXPECT_TRUE(text.starts_with("{\"index\":0,\"t\":\"a\\ufffd\\ufffd\"}\n")) << text;
  EXPECT_EQ(totals.replaced, 5);
  EXPECT_EQ(remark_of(totals), "5 bytes are no UTF-8 and were written as U+FFFD (--format csv keeps them)");
}

TEST_F(JsonLines, HaveEveryTypeOfNumberAndArraysOfArrays) {
  const Tensor half(DType::kFloat16, {1}), brain(DType::kBFloat16, {1});
  static_cast<std::uint16_t*>(half.view().data)[0] = 0x3555;
  static_cast<std::uint16_t*>(brain.view().data)[0] = 0x3eab;
  const Synthetic batch({{"u8", Tensor({1}, std::vector<std::uint8_t>{200})},
                         {"i32", Tensor({1}, std::vector<std::int32_t>{-5})},
                         {"flag", Tensor({1}, std::vector<bool>{true})},
                         {"half", half},
                         {"brain", brain},
                         {"deep", Tensor({1, 2, 2}, std::vector<std::int64_t>{1, 2, 3, 4})},
                         {"none", Tensor(DType::kFloat32, {1, 0})},
                         {"lowest", Tensor({1}, std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min()})}});
  EXPECT_EQ(written(kJson, {&batch}),
            "{\"index\":0,\"u8\":200,\"i32\":-5,\"flag\":true,\"half\":0.33325195,\"brain\":0.33398438,"
            "\"deep\":[[1,2],[3,4]],\"none\":[],\"lowest\":-9223372036854775808}\n");
}

TEST_F(Csv, HasAHeaderAndAColumnForEachElement) {
  const Synthetic batch({{"p", Tensor({2, 2}, {0.25f, 0.5f, kNan, -kInfinity})},
                         {"deep", Tensor({2, 1, 2}, std::vector<std::int64_t>{1, 2, 3, 4})},
                         {"class", Tensor({2}, std::vector<std::int64_t>{1, 9007199254740993})}});
  EXPECT_EQ(written(kCsv, {&batch, &batch}),
            "index,p_0,p_1,deep_0_0,deep_0_1,class\n"
            "0,0.25,0.5,1,2,1\n"
            "1,nan,-inf,3,4,9007199254740993\n"
            "2,0.25,0.5,1,2,1\n"
            "3,nan,-inf,3,4,9007199254740993\n");
  EXPECT_EQ(totals.not_finite, 0);
}

TEST_F(Csv, QuotesAsRfc4180Says) {
  const Synthetic batch({{"a,b", texts({"plain", "a,b", "say \"hi\"", "two\nlines", "cr\r", "", "käse"})}},
                        Tensor({7}, std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(written(kCsv, {&batch}),
            "id,\"a,b\"\n1,plain\n2,\"a,b\"\n3,\"say \"\"hi\"\"\"\n4,\"two\nlines\"\n5,\"cr\r\"\n6,\"\"\n7,käse\n");
  EXPECT_THAT(read_back("csv", dir / "predictions", "text").back(), "7,käse");
}

TEST_F(Csv, RefusesExamplesOfAnotherShape) {
  const Synthetic narrow({{"p", Tensor({1, 2}, {1.f, 2.f})}}), wide({{"p", Tensor({1, 3}, {1.f, 2.f, 3.f})}});
  const auto writer = to_file(kCsv);
  writer->write(narrow.batch());
  EXPECT_EQ(
      error_of([&] { writer->write(wide.batch()); }),
      "INVALID_ARGUMENT: [B5034] CSV has as many columns in all lines, and an example of 'p' was [2] and is now [3]; "
      "write JSON lines");
}

TEST_F(Csv, RefusesTwoColumnsOfAName) {
  const Synthetic batch({{"p", Tensor({1, 1}, {1.f})}, {"p_0", Tensor({1}, {1.f})}});
  EXPECT_EQ(error_of([&] { to_file(kCsv)->write(batch.batch()); }),
            "INVALID_ARGUMENT: [B5034] two columns would be named 'p_0'; choose among the predictions with "
            "predict.keys (--keys), or "
            "write JSON lines");
}

TEST_F(JsonLines, RefuseABatchThatIsNotByExamples) {
  const Synthetic unequal({{"a", Tensor({2}, {1.f, 2.f})}, {"b", Tensor({3}, {1.f, 2.f, 3.f})}});
  EXPECT_EQ(
      error_of([&] { to_file(kJson)->write(unequal.batch()); }),
      "INVALID_ARGUMENT: [B5035] the predictions are not of as many examples: prediction 'a' is [2], prediction 'b' is "
      "[3]");
}

// Ten thousand numbers, read by Python's json or csv.
template <class T, class Bits>
void read_back_exactly(const TempDir& dir, PredictionWriter& writer, const char* format, const char* type) {
  constexpr std::size_t kRows = 100, kColumns = 100;
  const std::vector<T> values = random_floats<T, Bits>(kRows * kColumns);
  const Synthetic batch({{"p", Tensor({kRows, kColumns}, values)}});
  writer.write(batch.batch());
  writer.finish();
  const std::vector<std::string> lines = read_back(format, dir / "predictions", type);
  ASSERT_EQ(lines.size(), kRows);
  for (std::size_t r = 0; r < kRows; ++r) {
    std::string expected;
    for (std::size_t c = 0; c < kColumns; ++c) expected += "," + bits_of<T, Bits>(values[r * kColumns + c]);
    ASSERT_EQ(lines[r].substr(lines[r].find(',')), expected) << "row " << r;  // after the index
  }
}

TEST_F(JsonLines, AnotherReaderFindsTheSameBitsOfTenThousandNumbers) {
  read_back_exactly<float, std::uint32_t>(dir, *to_file(kJson), "jsonl", "float32");
  read_back_exactly<double, std::uint64_t>(dir, *to_file(kJson), "jsonl", "float64");
}
TEST_F(Csv, AnotherReaderFindsTheSameBitsOfTenThousandNumbers) {
  read_back_exactly<float, std::uint32_t>(dir, *to_file(kCsv), "csv", "float32");
  read_back_exactly<double, std::uint64_t>(dir, *to_file(kCsv), "csv", "float64");
}

TEST_F(JsonLines, AreOneOfThreeFormatsByName) {
  EXPECT_EQ(prediction_format("jsonl"), kJson);
  EXPECT_EQ(prediction_format("csv"), kCsv);
  EXPECT_EQ(prediction_format("npy"), PredictionFormat::kNpy);
  EXPECT_EQ(error_of([] { prediction_format("json"); }),
            "INVALID_ARGUMENT: [B5004] there is no format 'json' for predictions (did you mean \"jsonl\"?); there are: "
            "jsonl, "
            "csv, npy");
  EXPECT_EQ(prediction_format_of_file("out/p.csv"), kCsv);
  EXPECT_EQ(prediction_format_of_file("p.npy"), PredictionFormat::kNpy);
  EXPECT_EQ(prediction_format_of_file("csv"), kJson);
}

// The memory of a writer does not grow with what it writes.
TEST_F(JsonLines, AreHandedOverInParts) {
  FaultyFileSystem files(posix_file_system());
  const Synthetic batch({{"p", Tensor(DType::kFloat32, {10000, 10})}});
  const auto writer = to_file(kJson, "predictions", files);
  writer->write(batch.batch());
  const auto calls = files.calls();
  EXPECT_GE(std::count_if(calls.begin(), calls.end(), [](const std::string& c) { return c.starts_with("write "); }), 5);
}

TEST_F(Csv, OfNoBatchIsAnEmptyFile) {
  EXPECT_EQ(written(kCsv, {}), "");
  EXPECT_TRUE(std::filesystem::exists(dir / "predictions"));
}

}  // namespace
}  // namespace belay::runtime::testing
