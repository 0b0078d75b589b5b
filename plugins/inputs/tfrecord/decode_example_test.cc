// SPDX-License-Identifier: Apache-2.0
#include "decode_example.h"

#include <belay/testing/allocations.h>
#include <belay/testing/error_of.h>
#include <gmock/gmock.h>

#include <random>

#include "tfrecord_test_files.h"

namespace tfrecord_input {
namespace {

using belay::DType;
using belay::testing::error_of;
using ::testing::ElementsAre;

FeatureSpec spec_of(const std::string& name, DType dtype, const belay::Dims& dims = {}) {
  FeatureSpec spec;
  spec.name = name, spec.dtype = dtype, spec.dims = dims;
  for (const std::int64_t d : dims) spec.elements *= static_cast<std::size_t>(d);
  return spec;
}

template <class T>
std::vector<T> decoded(const std::string& record, const FeatureSpec& spec) {
  std::vector<T> values(spec.elements);
  FeatureTarget target;
  if constexpr (std::is_same_v<T, std::string>) {
    target.texts = values.data();
  } else {
    target.numbers = values.data();
  }
  decode_example(record, {spec}, {target});
  return values;
}

std::string error(const std::string& record, const FeatureSpec& spec) {
  return error_of([&] {
    if (spec.dtype == DType::kString) {
      decoded<std::string>(record, spec);
    } else {
      decoded<double>(record, spec);  // the largest size
    }
  });
}

TEST(DecodeExample, GivesTheValues) {
  const std::string record = ExampleBuilder()
                                 .floats("f", {0.5f, -1, 2, 3})
                                 .ints("i", {-7})
                                 .texts("t", {"a", std::string("\0b", 2)})
                                 .texts("raw", {"\x01\xff"})
                                 .bytes();
  EXPECT_THAT(decoded<float>(record, spec_of("f", DType::kFloat32, {2, 2})), ElementsAre(0.5f, -1, 2, 3));
  EXPECT_THAT(decoded<std::int64_t>(record, spec_of("i", DType::kInt64)), ElementsAre(-7));
  EXPECT_THAT(decoded<std::string>(record, spec_of("t", DType::kString, {2})), ElementsAre("a", std::string("\0b", 2)));
  EXPECT_THAT(decoded<std::uint8_t>(record, spec_of("raw", DType::kUInt8, {2})), ElementsAre(1, 255));
}

// Two serialised messages in a row are one. If two features have one name, the later one counts.
TEST(DecodeExample, T_44d_AnUnusualEncodingHasTheSameValues) {
  const std::string one = ExampleBuilder().floats("f", {1, 2}).texts("t", {"a"}).bytes();
  const std::string two = ExampleBuilder().floats("f", {3, 4}).bytes();
  const std::string unknown("\x1a\x01x", 3);  // field 3, which an Example lacks
  for (const std::string& record : {one + two, one + two + unknown, unknown + one + two}) {
    EXPECT_THAT(decoded<float>(record, spec_of("f", DType::kFloat32, {2})), ElementsAre(3, 4));
    EXPECT_THAT(decoded<std::string>(record, spec_of("t", DType::kString)), ElementsAre("a"));
  }
}

// A message with its map and strings would allocate many times.
TEST(DecodeExample, T_44c_AnExampleIsDecodedWithoutAnAllocation) {
  const std::vector<FeatureSpec> specs{spec_of("raw", DType::kUInt8, {784}), spec_of("f", DType::kFloat32, {2}),
                                       spec_of("i", DType::kInt64)};
  const std::string record = ExampleBuilder()
                                 .texts("raw", {std::string(784, 'x')})
                                 .floats("f", {1, 2})
                                 .ints("i", {-1})
                                 .texts("not asked for", {"a", "b"})
                                 .bytes();
  std::vector<unsigned char> raw(784);
  float f[2];
  std::int64_t i = 0;
  const std::vector<FeatureTarget> targets{{raw.data(), nullptr}, {f, nullptr}, {&i, nullptr}};
  const std::uint64_t before = belay::testing::allocations();
  decode_example(record, specs, targets);
  EXPECT_EQ(belay::testing::allocations() - before, 0u);
  EXPECT_EQ(raw[783], 'x');
  EXPECT_THAT(f, ElementsAre(1, 2));
  EXPECT_EQ(i, -1);
}

TEST(DecodeExample, NumbersThatAreNotPackedAreReadToo) {
  // The record is features { feature { key: "i" value { int64_list { value: 5 value: 6 } } } }, each value with a
  // separate tag.
  const std::string record("\x0a\x0d\x0a\x0b\x0a\x01i\x12\x06\x1a\x04\x08\x05\x08\x06", 15);
  EXPECT_THAT(decoded<std::int64_t>(record, spec_of("i", DType::kInt64, {2})), ElementsAre(5, 6));
}

TEST(DecodeExample, ADefaultStandsForAFeatureThatIsMissingOrUnset) {
  const std::string record = ExampleBuilder().unset("i").bytes();
  for (const char* name : {"i", "j"}) {
    FeatureSpec spec = spec_of(name, DType::kInt64);
    spec.fallback = FeatureSpec::Default{{9, 0, 0, 0, 0, 0, 0, 0}, {}};
    EXPECT_THAT(decoded<std::int64_t>(record, spec), ElementsAre(9));
    FeatureSpec text = spec_of(name, DType::kString);
    text.fallback = FeatureSpec::Default{{}, {"none"}};
    EXPECT_THAT(decoded<std::string>(record, text), ElementsAre("none"));
  }
}

TEST(DecodeExample, WhatDoesNotFitIsNamed) {
  const std::string record = ExampleBuilder()
                                 .floats("height", {1, 2})
                                 .ints("kind", {1})
                                 .texts("name", {"ab"})
                                 .texts("names", {"a", "b"})
                                 .unset("empty")
                                 .bytes();
  const struct {
    FeatureSpec spec;
    const char* error;
  } cases[] = {
      {spec_of("heigth", DType::kFloat32),
       "[B3034] it has no feature \"heigth\" (did you mean \"height\"?), and 'features' has no default for it; it has "
       "empty, height, kind, name, names"},
      {spec_of("empty", DType::kInt64),
       "[B3034] it has no value for feature \"empty\", and 'features' has no default for it"},
      {spec_of("kind", DType::kFloat32),
       "[B3025] feature \"kind\" holds int64, but 'features' names float32; use int64"},
      {spec_of("height", DType::kInt64),
       "[B3025] feature \"height\" holds float32, but 'features' names int64; use float32"},
      {spec_of("name", DType::kInt64),
       "[B3025] feature \"name\" holds bytes, but 'features' names int64; use string or uint8"},
      {spec_of("height", DType::kString),
       "[B3025] feature \"height\" holds float32, but 'features' names string; use float32"},
      {spec_of("height", DType::kFloat32), "[B3024] feature \"height\" has 2 values, its shape [] needs 1"},
      {spec_of("height", DType::kFloat32, {3}), "[B3024] feature \"height\" has 2 values, its shape [3] needs 3"},
      {spec_of("names", DType::kString), "[B3024] feature \"names\" has 2 values, its shape [] needs 1"},
      {spec_of("name", DType::kUInt8, {3}), "[B3024] feature \"name\" has 2 bytes, its shape [3] needs 3"},
      {spec_of("names", DType::kUInt8, {2}), "[B3024] feature \"names\" has 2 strings; uint8 takes the bytes of one"},
  };
  for (const auto& c : cases) EXPECT_EQ(error(record, c.spec), std::string("INVALID_ARGUMENT: ") + c.error);
}

TEST(DecodeExample, OtherMessagesAreRefused) {
  const FeatureSpec spec = spec_of("x", DType::kInt64);
  EXPECT_EQ(error("garbage", spec), "DATA_LOSS: [B3022] it is no tf.train.Example: its bytes are no such message");
  EXPECT_EQ(
      error("", spec),
      "INVALID_ARGUMENT: [B3034] it has no feature \"x\", and 'features' has no default for it; it has no features");
  // The record is context {} feature_lists { feature_list { key: "s" value {} } }.
  EXPECT_EQ(error(std::string("\x0a\x00\x12\x05\x0a\x03\x0a\x01s", 9), spec),
            "INVALID_ARGUMENT: [B3022] it is a tf.train.SequenceExample; this input reads tf.train.Example: write each "
            "sequence "
            "as a feature of one length");
}

TEST(DecodeExample, GarbageIsAnErrorAndNeverACrash) {
  const std::string good = ExampleBuilder().floats("x", {1, 2, 3}).ints("y", {4}).texts("z", {"abc"}).bytes();
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string record = good;
    for (int i = 0; i < 4; ++i) record[random() % record.size()] = static_cast<char>(random());
    error(record, spec_of("x", DType::kFloat32, {3}));
    error(record, spec_of("z", DType::kString));
  }
}

}  // namespace
}  // namespace tfrecord_input
