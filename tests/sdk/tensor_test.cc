// SPDX-License-Identifier: Apache-2.0
#include "belay/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "belay/tensor_text.h"
#include "belay/testing/error_of.h"

namespace {

using belay::Dims;
using belay::DType;
using belay::Tensor;
using belay::tensor_text;
using belay::TensorView;
using belay::testing::error_of;
using namespace std::string_view_literals;

TEST(Tensor, ScalarsHaveRankZero) {
  const Tensor t(1.5f);
  EXPECT_EQ(t.dtype(), DType::kFloat32);
  EXPECT_TRUE(t.dims().empty());
  EXPECT_EQ(t.size(), 1u);
  EXPECT_EQ(TensorView(t).scalar<float>(), 1.5f);
  EXPECT_EQ(TensorView(Tensor("word"sv).view()).dtype(), DType::kString);
}

TEST(Tensor, ElementsLieRowByRow) {
  const Tensor t({2, 3}, {1, 2, 3, 4, 5, 6});
  const TensorView view = t;
  EXPECT_EQ(view.dtype(), DType::kInt32);
  EXPECT_EQ(view.dims(), (Dims{2, 3}));
  EXPECT_EQ(view.bytes(), 24u);
  EXPECT_EQ(view.data<const std::int32_t>()[4], 5);
}

TEST(RoundedText, IsWhatPrintfShows) {
  for (const double value : {0.0, 1.0, -2.5, 0.1, 1e-5, 123456.7, 1234567.0, 1e300, 0.69314718056}) {
    char shown[32];
    std::snprintf(shown, sizeof(shown), "%g", value);
    EXPECT_EQ(belay::rounded_text(value), shown);
    std::snprintf(shown, sizeof(shown), "%.4g", value);
    EXPECT_EQ(belay::rounded_text(value, 4), shown);
  }
  EXPECT_EQ(belay::rounded_text(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(belay::rounded_text(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Tensor, AnExactTextIsReadBack) {
  for (const double value : {0.0, 0.1, -2.5, 1.0 / 3, 123456789.0, 1e22, 5e-324, 1.7976931348623157e308})
    EXPECT_EQ(std::strtod(belay::exact_text(value).c_str(), nullptr), value);
  EXPECT_EQ(belay::exact_text(0.1), "0.1");
}

TEST(Tensor, NewElementsAreZeroOrEmpty) {
  EXPECT_EQ(tensor_text(Tensor(DType::kFloat64, {2})), "[0, 0]");
  EXPECT_EQ(tensor_text(Tensor(DType::kString, {2})), "[\"\", \"\"]");
  EXPECT_EQ(Tensor(DType::kFloat32, {0, 5}).size(), 0u);
}

TEST(Tensor, OfStringViewsOwnsTheStrings) {
  std::string word = "a longer string than a small one holds";
  const Tensor words({2}, std::vector<std::string_view>{word, "x"});
  word.assign(word.size(), '-');
  EXPECT_EQ(tensor_text(words), "[\"a longer string than a small one holds\", \"x\"]");
}

TEST(Tensor, ACopyOwnsItsElements) {
  Tensor original({2}, {1.f, 2.f});
  const Tensor copy{TensorView(original)};
  original.data<float>()[0] = 9;
  EXPECT_EQ(tensor_text(copy), "[1, 2]");

  Tensor words(DType::kString, {2});
  words.set_text(1, "a longer text than a small string holds");
  const Tensor words_copy{TensorView(words)};
  words.set_text(1, "x");
  EXPECT_EQ(TensorView(words_copy).text(1), "a longer text than a small string holds");
}

TEST(Tensor, TruthValuesAreBytes) {
  const Tensor t({3}, std::vector<bool>{true, false, true});
  EXPECT_EQ(t.dtype(), DType::kBool);
  EXPECT_EQ(tensor_text(t), "[true, false, true]");
}

TEST(Tensor, WrongUseNamesBothSides) {
  const Tensor t({2}, {1.f, 2.f});
  const TensorView view = t;
  EXPECT_EQ(error_of([&] { view.data<double>(); }), "INVALID_ARGUMENT: the tensor is float32, not float64");
  EXPECT_EQ(error_of([&] { view.scalar<float>(); }), "INVALID_ARGUMENT: expected a scalar, got shape [2]");
  EXPECT_EQ(error_of([] {
              Tensor(Dims{3}, {1.f, 2.f});
            }),
            "INVALID_ARGUMENT: 2 values do not fill a tensor of shape [3]");
  EXPECT_EQ(error_of([] { TensorView(Tensor("x"sv).view()).number(0); }),
            "INVALID_ARGUMENT: a string tensor has no numbers to read");
}

TEST(Tensor, AnOperationHasNoValue) {
  EXPECT_FALSE(TensorView().has_value());
  EXPECT_EQ(tensor_text(TensorView()), "(no value)");
}

TEST(Tensor, NumbersOfEveryDtype) {
  const auto sixteen = [](DType dtype, std::uint16_t bits) {
    Tensor t(dtype, {});
    std::memcpy(t.view().data, &bits, sizeof(bits));
    return t;
  };
  struct Case {
    Tensor tensor;
    double number;
  };
  for (const Case& c :
       {Case{Tensor(0.5f), 0.5}, Case{Tensor(0.25), 0.25}, Case{Tensor(-3), -3},
        Case{Tensor(std::int64_t{1} << 40), std::ldexp(1, 40)}, Case{Tensor(std::uint8_t{200}), 200},
        Case{Tensor(true), 1}, Case{sixteen(DType::kBFloat16, 0xbf80), -1}, Case{sixteen(DType::kFloat16, 0x3c00), 1},
        Case{sixteen(DType::kFloat16, 0xc000), -2}, Case{sixteen(DType::kFloat16, 0x7bff), 65504},
        Case{sixteen(DType::kFloat16, 0x0001), 0x1p-24}, Case{sixteen(DType::kFloat16, 0x0400), 0x1p-14},
        Case{sixteen(DType::kFloat16, 0xfc00), -HUGE_VAL}})
    EXPECT_EQ(TensorView(c.tensor).number(0), c.number);
  EXPECT_TRUE(std::isnan(TensorView(sixteen(DType::kFloat16, 0x7e00)).number(0)));
}

TEST(Tensor, DimsTextShowsWhatIsUnknown) {
  EXPECT_EQ(belay::dims_text(Dims{}), "[]");
  EXPECT_EQ(belay::dims_text(Dims{2, -1, 3}), "[2, ?, 3]");
  EXPECT_EQ(belay::dims_text(nullptr, -1), "[...]");
}

TEST(TensorText, ReadsAsPeopleWriteIt) {
  struct Case {
    Tensor tensor;
    const char* text;
  };
  for (const Case& c :
       {Case{Tensor(0.69314718f), "0.6931472"}, Case{Tensor(0.1), "0.1"}, Case{Tensor(1.0f / 3), "0.33333334"},
        Case{Tensor(100.f), "100"}, Case{Tensor(1e-8f), "1e-08"}, Case{Tensor(-0.0f), "-0"},
        Case{Tensor(std::numeric_limits<float>::quiet_NaN()), "nan"},
        Case{Tensor(-std::numeric_limits<double>::infinity()), "-inf"},
        Case{Tensor(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808"}, Case{Tensor(false), "false"},
        Case{Tensor("a b"sv), "\"a b\""}, Case{Tensor({0}, std::vector<float>{}), "[]"},
        Case{Tensor({2, 2}, {1, 2, 3, 4}), "[[1, 2], [3, 4]]"}, Case{Tensor({2, 1}, {1, 2}), "[[1], [2]]"},
        Case{Tensor({2, 0}, std::vector<float>{}), "[[], []]"}})
    EXPECT_EQ(tensor_text(c.tensor), c.text);
}

TEST(TensorText, LongOnesAreCut) {
  EXPECT_EQ(tensor_text(Tensor({5}, {1, 2, 3, 4, 5}), 5), "[1, 2, 3, 4, 5]");
  EXPECT_EQ(tensor_text(Tensor({5}, {1, 2, 3, 4, 5}), 3), "[1, 2, 3, ...]");
  EXPECT_EQ(tensor_text(Tensor({2, 2}, {1, 2, 3, 4}), 3), "[[1, 2], [3, ...]]");
  EXPECT_EQ(tensor_text(Tensor({2, 2}, {1, 2, 3, 4}), 2), "[[1, 2], ...]");
  EXPECT_EQ(tensor_text(Tensor(7), 0), "7");
  EXPECT_EQ(tensor_text(Tensor(std::string_view(std::string(100, 'x')))), "\"" + std::string(64, 'x') + "...\"");
}

}  // namespace
