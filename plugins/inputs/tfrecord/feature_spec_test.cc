// SPDX-License-Identifier: Apache-2.0
#include "feature_spec.h"

#include <belay/testing/error_of.h>
#include <belay/testing/option_values.h>
#include <gmock/gmock.h>

namespace tfrecord_input {
namespace {

using belay::DType;
using belay::testing::error_of;
using belay::testing::OptionValue;
using belay::testing::RawOptions;
using ::testing::ElementsAre;
using Integers = std::vector<std::int64_t>;

std::vector<FeatureSpec> parse(const std::vector<OptionValue>& values) {
  const RawOptions raw(values);
  return parse_feature_specs(belay::Table(raw.data(), raw.size()));
}

template <class T>
std::vector<T> fallback_of(const FeatureSpec& spec) {
  const auto* data = reinterpret_cast<const T*>(spec.fallback->bytes.data());
  return std::vector<T>(data, data + spec.elements);
}

TEST(FeatureSpec, ReadsDtypeShapeAndDefault) {
  const auto specs = parse({{"x.dtype", "float32"},
                            {"x.shape", Integers{2, 3}},
                            {"image/encoded.dtype", "string"},
                            {"y.default", 7},
                            {"y.dtype", "int64"},
                            {"a.b.dtype", "uint8"},
                            {"a.b.shape", Integers{}}});
  ASSERT_EQ(specs.size(), 4u);
  EXPECT_EQ(specs[0].name, "x");
  EXPECT_EQ(specs[0].dtype, DType::kFloat32);
  EXPECT_THAT(specs[0].dims, ElementsAre(2, 3));
  EXPECT_EQ(specs[0].elements, 6u);
  EXPECT_FALSE(specs[0].fallback);
  EXPECT_EQ(specs[1].name, "image/encoded");
  EXPECT_EQ(specs[1].dtype, DType::kString);
  EXPECT_EQ(specs[2].name, "y");
  EXPECT_THAT(fallback_of<std::int64_t>(specs[2]), ElementsAre(7));
  EXPECT_EQ(specs[3].name, "a.b");
  EXPECT_EQ(specs[3].dtype, DType::kUInt8);
  EXPECT_THAT(specs[3].dims, ElementsAre());
}

TEST(FeatureSpec, ADefaultIsOneValueForAllOrOneForEach) {
  const auto with = [](const char* dtype, const OptionValue& fallback) {
    return parse({{"x.dtype", dtype}, {"x.shape", Integers{3}}, fallback})[0];
  };
  EXPECT_THAT(fallback_of<float>(with("float32", {"x.default", 0.5})), ElementsAre(0.5f, 0.5f, 0.5f));
  EXPECT_THAT(fallback_of<float>(with("float32", {"x.default", Integers{1, 2, 3}})), ElementsAre(1, 2, 3));
  EXPECT_THAT(fallback_of<std::uint8_t>(with("uint8", {"x.default", 255})), ElementsAre(255, 255, 255));
  EXPECT_THAT(with("string", {"x.default", "no"}).fallback->texts, ElementsAre("no", "no", "no"));
}

TEST(FeatureSpec, WhatIsWrongIsNamed) {
  const OptionValue dtype("x.dtype", "int64"), shape("x.shape", Integers{2});
  const struct {
    std::vector<OptionValue> values;
    const char* error;
  } cases[] = {
      {{}, "[B3020] 'features' is empty; name each with its dtype, such as x = { dtype = \"float32\" }"},
      {{{"x", "float32"}}, "[B3020] 'features.x' must be a table, such as { dtype = \"float32\", shape = [4] }"},
      {{shape}, "[B3020] 'features.x' needs a dtype: float32, int64, string or uint8"},
      {{{"x.dtyp", "int64"}},
       "[B3020] 'features.x.dtyp' is unknown (did you mean \"dtype\"?); a feature has dtype, shape and default"},
      {{{"x.dtype", "int46"}},
       "[B3020] 'features.x.dtype' is \"int46\", must be one of: float32, int64, string, uint8 (did you mean "
       "\"int64\"?)"},
      {{{"x.dtype", 3}}, "[B3020] 'features.x.dtype' must be one of: float32, int64, string, uint8"},
      {{dtype, {"x.shape", 3}},
       "[B3020] 'features.x.shape' must be a list of integers such as [28, 28]; [] is a single value"},
      {{dtype, {"x.shape", std::vector<double>{3}}},
       "[B3020] 'features.x.shape' must be a list of integers such as [28, 28]; [] is a single value"},
      {{dtype, {"x.shape", Integers{2, -1}}},
       "[B3020] 'features.x.shape' holds -1, must be at least 1: every example has the same shape"},
      {{dtype, {"x.shape", Integers{1 << 20, 1 << 20}}},
       "[B3020] 'features.x.shape' has too many elements; at most 268435456"},
      {{dtype, shape, {"x.default", Integers{1, 2, 3}}},
       "[B3020] 'features.x.default' has 3 values, the shape [2] needs 2"},
      {{dtype, shape, {"x.default", Integers{1}}}, "[B3020] 'features.x.default' has 1 values, the shape [2] needs 2"},
      {{dtype, {"x.default", 0.5}}, "[B3020] 'features.x.default' is no int64"},
      {{{"x.dtype", "string"}, {"x.default", 1}}, "[B3020] 'features.x.default' is no string"},
      {{{"x.dtype", "uint8"}, {"x.default", 256}}, "[B3020] 'features.x.default' is outside 0 to 255"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(error_of([&] { parse(c.values); }), std::string("INVALID_ARGUMENT: ") + c.error);
}

}  // namespace
}  // namespace tfrecord_input
