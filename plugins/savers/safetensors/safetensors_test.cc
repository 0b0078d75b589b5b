// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "belay/testing/error_of.h"
#include "belay/testing/saver_driver.h"
#include "plugins/savers/saver_test.h"

extern "C" const belay_module belay_module_safetensors;

namespace safetensors_test {

using belay::Dims;
using belay::DType;
using belay::Tensor;
using belay::testing::error_of;
using belay::testing::NamedTensors;
using belay::testing::SaverDriver;
using saver_test::of_type;
using saver_test::one_of_each;
using saver_test::read_bytes;

const belay_module& module() { return belay::testing::module_under_test(belay_module_safetensors); }

constexpr const char* kFile = "model.safetensors";

std::string file_of(std::string_view json, std::string_view data, std::uint64_t length) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i) bytes[static_cast<std::size_t>(i)] = static_cast<char>(length >> (8 * i) & 0xff);
  return bytes + std::string(json) + std::string(data);
}
std::string file_of(std::string_view json, std::string_view data = {}) { return file_of(json, data, json.size()); }

// Returns "DATA_LOSS: message"; empty: it was read.
std::string outcome_of_reading(const std::string& bytes) {
  SaverDriver saver(module());
  saver.files().contents[kFile] = bytes;
  return error_of([&] { saver.read(); });
}

TEST(Safetensors, EveryTypeComesBackBitForBit) {
  SaverDriver saver(module());
  EXPECT_EQ(saver.difference_after_round_trip(one_of_each()), "");
}

TEST(Safetensors, NoTensorsAreAFileToo) {
  SaverDriver saver(module());
  EXPECT_EQ(saver.difference_after_round_trip({}), "");
  EXPECT_EQ(saver.files().contents.at(kFile).size(), 64u);
}

TEST(Safetensors, NaNAndInfinityKeepTheirBits) {
  SaverDriver saver(module());
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(saver.difference_after_round_trip({{"x", Tensor(Dims{4}, {nan, -nan, inf, -inf})}}), "");
}

TEST(Safetensors, DataBeginsAt64AndEveryTensorAtAMultipleOfItsElement) {
  SaverDriver saver(module());
  saver.write(one_of_each());
  const std::string& bytes = saver.files().contents.at(kFile);
  const std::size_t header = static_cast<unsigned char>(bytes[0]) + 256u * static_cast<unsigned char>(bytes[1]);
  EXPECT_EQ((8 + header) % 64, 0u);
  const std::map<std::string, std::size_t> widths = {{"F64", 8}, {"I64", 8},  {"F32", 4}, {"I32", 4},
                                                     {"F16", 2}, {"BF16", 2}, {"U8", 1},  {"BOOL", 1}};
  const auto json = nlohmann::json::parse(bytes.substr(8, header));
  EXPECT_EQ(json.size(), one_of_each().size());
  for (const auto& [name, entry] : json.items())
    EXPECT_EQ(entry["data_offsets"][0].get<std::size_t>() % widths.at(entry["dtype"]), 0u) << name;
}

TEST(Safetensors, TheFileDoesNotDependOnTheOrderOfTheVariables) {
  SaverDriver saver(module());
  NamedTensors tensors = one_of_each();
  saver.write(tensors);
  const std::string first = saver.files().contents.at(kFile);
  std::reverse(tensors.begin(), tensors.end());
  saver.write(tensors);
  EXPECT_EQ(saver.files().contents.at(kFile), first);
}

TEST(Safetensors, WritesTheBytesOfTheFormat) {
  SaverDriver saver(module());
  saver.write({{"b", Tensor(Dims{1}, {std::uint8_t{7}})}, {"a", Tensor(Dims{2}, {1.f, 2.f})}});
  std::string json =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[1],"data_offsets":[8,9]}})";
  json.resize(120, ' ');
  EXPECT_EQ(saver.files().contents.at(kFile), file_of(json, std::string("\0\0\x80\x3f\0\0\0\x40\x07", 9)));
}

TEST(Safetensors, OnlyWantedTensorsAreRead) {
  SaverDriver saver(module());
  saver.write(one_of_each());
  const NamedTensors found = saver.read(std::set<std::string>{"f64", "u8"});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(saver.announced().size(), one_of_each().size());
}

TEST(Safetensors, EveryTruncationIsFound) {
  SaverDriver saver(module());
  saver.write(one_of_each());
  EXPECT_EQ(saver.undetected_truncation(kFile), "");
}

TEST(Safetensors, AMissingFileIsNotFound) {
  SaverDriver saver(module());
  EXPECT_EQ(error_of([&] { saver.read(); }), "NOT_FOUND: cannot open 'model.safetensors': no such file");
}

TEST(Safetensors, AFullDiskEndsTheWriteAtEveryByte) {
  SaverDriver saver(module());
  saver.write(one_of_each());
  const std::size_t size = saver.files().contents.at(kFile).size();
  for (std::size_t room = 0; room < size; ++room) {
    saver.files().fill_up_after(room);
    EXPECT_EQ(error_of([&] { saver.write(one_of_each()); }),
              "RESOURCE_EXHAUSTED: cannot write 'model.safetensors': No space left on device")
        << room;
  }
  saver.files().fill_up_after(size);
  EXPECT_EQ(saver.difference_after_round_trip(one_of_each()), "");
}

TEST(Safetensors, RefusesVariablesThatTheFormatCannotHold) {
  SaverDriver saver(module());
  const struct {
    std::string name;
    Tensor value;
    std::string expected;
  } cases[] = {
      {"words", Tensor(DType::kString, {2}),
       "UNIMPLEMENTED: [B4042] variable \"words\" is of type string, which a .safetensors file cannot hold"},
      {"__metadata__", Tensor(1.f),
       "INVALID_ARGUMENT: [B4042] the format reserves the name \"__metadata__\"; rename this variable"},
      {"a\xff", Tensor(1.f),
       "INVALID_ARGUMENT: [B4042] the variable's name \"a\xef\xbf\xbd\" is not UTF-8, which the format asks for"},
  };
  for (const auto& c : cases) EXPECT_EQ(error_of([&] { saver.write({{c.name, c.value}}); }), c.expected);
}

TEST(Safetensors, ReadsForeignFilesWhoseDataIsNotAligned) {
  SaverDriver saver(module());
  saver.files().contents[kFile] = file_of(
      "\n\t {\"__metadata__\":{\"format\":\"pt\"},\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[1,5],"
      "\"strides\":[[1],{\"x\":null}]},\"b\":{\"data_offsets\":[0,1],\"shape\":[1],\"dtype\":\"U8\"}}  \n",
      std::string("\x2a\0\0\x80\x3f", 5));
  const NamedTensors found = saver.read();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].first, "b");
  EXPECT_EQ(found[1].first, "w");
  EXPECT_EQ(belay::TensorView(found[1].second.view()).scalar<float>(), 1.f);
}

TEST(Safetensors, EachRuleOfTheFormatHasItsMessage) {
  const std::string a = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  const struct {
    std::string bytes, expected;
  } cases[] = {
      {"1234567", "DATA_LOSS: [B4040] the .safetensors file has 7 bytes; the length of the header alone has 8"},
      {file_of("{}", "", 3),
       "DATA_LOSS: [B4040] the .safetensors file states at byte 0 that its header has 3 bytes, but only 2 follow"},
      {file_of("{}", "", 100'000'001),
       "DATA_LOSS: [B4040] the .safetensors file states at byte 0 that its header has 100000001 bytes; at most "
       "100000000 are allowed"},
      {std::string("\x80\x04\x95\x18\x62\0\0\0\0\0\0}pickle", 18),
       "DATA_LOSS: [B4041] the .safetensors file is a pickle of Python (torch.save, joblib), no safetensors file: "
       "write its tensors with safetensors.torch.save_file"},
      {"<html>\n<body>Not found</body></html>",
       "DATA_LOSS: [B4041] the .safetensors file is a page of HTML, no safetensors file: a download that failed leaves "
       "one; fetch the file again"},
      {file_of(""), "DATA_LOSS: the .safetensors file: the header is empty"},
      {file_of(R"({"a":1})"), "DATA_LOSS: the .safetensors file: the header's \"a\" is 1, not an object"},
      {file_of(R"({"a":[]})"), "DATA_LOSS: the .safetensors file: the header's \"a\" is a list, not an object"},
      {file_of("[]"), "DATA_LOSS: the .safetensors file: the header is a list, not an object"},
      {file_of("null"), "DATA_LOSS: the .safetensors file: the header is null, not an object"},
      {file_of(R"({"a":{"dtype":8,"shape":[1],"data_offsets":[0,1]}})"),
       "DATA_LOSS: the .safetensors file: tensor \"a\" has a \"dtype\" that is 8"},
      {file_of(R"({"a":{"dtype":"U8","shape":{},"data_offsets":[0,1]}})"),
       "DATA_LOSS: the .safetensors file: tensor \"a\" has a \"shape\" that is an object"},
      {file_of(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})"),
       "DATA_LOSS: the .safetensors file: tensor \"a\" has the dimension -1"},
      {file_of(R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})"),
       "DATA_LOSS: the .safetensors file: tensor \"a\" has the dimension a list"},
      {file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})"),
       "DATA_LOSS: the .safetensors file: tensor \"a\" has more than 2 data_offsets"},
      {file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})"),
       "DATA_LOSS: the .safetensors file: tensor \"a\" has fewer than 2 data_offsets"},
      {file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}})"),
       "DATA_LOSS: the .safetensors file: tensor \"a\" has the data_offsets [1, 0], but 1 bytes by its dtype and "
       "shape"},
      {file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,1]}})", "x"),
       "DATA_LOSS: the .safetensors file: tensor \"a\" has the data_offsets [0, 1], but 4 bytes by its dtype and "
       "shape"},
      {file_of(R"({"a":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})", "x"),
       "DATA_LOSS: the .safetensors file: tensor \"a\" has the key \"shape\" twice"},
      {file_of(R"({"__metadata__":{"k":"1","k":"2"}})"),
       "DATA_LOSS: the .safetensors file: \"__metadata__\" has the key \"k\" twice"},
      {file_of(R"({"__metadata__":{},"__metadata__":{}})"),
       "DATA_LOSS: the .safetensors file: the key \"__metadata__\" occurs twice"},
      {file_of(R"({"__metadata__":{"k":1}})"),
       "DATA_LOSS: the .safetensors file: \"__metadata__\" holds strings only, but \"k\" is 1"},
      {file_of(R"({"a":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}})", "x"),
       "DATA_LOSS: the .safetensors file: tensor \"a\" does not fill whole bytes"},
      {file_of(R"({"a":{"dtype":"U8","shape":[9223372036854775808,0],"data_offsets":[0,0]}})"),
       "DATA_LOSS: the .safetensors file: tensor \"a\" has the dimension 9223372036854775808"},
      {file_of(R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", "\x01\x02"),
       "DATA_LOSS: [B4040] the .safetensors file holds 2 at byte 64, in the boolean tensor \"a\""},
      {file_of(a),
       "DATA_LOSS: the .safetensors file: the header is no JSON at byte 60: \"syntax error while parsing object - "
       "unexpected end of input; expected '}'\""},
  };
  for (const auto& c : cases) EXPECT_EQ(outcome_of_reading(c.bytes), c.expected);
}

TEST(Safetensors, T_62b_TensorsOfTypesThatBelayDoesNotHaveAreInNobodysWay) {
  SaverDriver saver(module());
  saver.files().contents["model.safetensors"] = file_of(
      R"({"ids":{"dtype":"I16","shape":[2],"data_offsets":[0,4]},"w":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
      R"("scale":{"dtype":"F8_E4M3","shape":[],"data_offsets":[8,9]},"u":{"dtype":"U16","shape":[1],)"
      R"("data_offsets":[9,11]}})",
      std::string("\1\0\2\0\0\0\x80\x3f\x38\1\0", 11));
  const NamedTensors found = saver.read();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first, "w");
  EXPECT_EQ(belay::TensorView(found[0].second.view()).scalar<float>(), 1.f);
  EXPECT_EQ(saver.announced(), (std::vector<std::string>{"ids", "w", "scale", "u"}));
  EXPECT_EQ(error_of([&] {
              saver.read(std::set<std::string>{"w", "ids"});
            }),
            "UNIMPLEMENTED: 'ids' is of a type that belay does not have");
}

TEST(Safetensors, DeepNestingIsRefusedBeforeItCostsAnything) {
  const std::string deep = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":)" + std::string(100'000, '[');
  EXPECT_EQ(outcome_of_reading(file_of(deep)),
            "DATA_LOSS: the .safetensors file: the header is nested deeper than 64 levels");
}

TEST(Safetensors, ManyDimensionsAreRefused) {
  std::string shape = "1";
  for (int i = 0; i < 300; ++i) shape += ",1";
  EXPECT_EQ(outcome_of_reading(file_of(R"({"a":{"dtype":"U8","data_offsets":[0,1],"shape":[)" + shape + "]}}", "x")),
            "DATA_LOSS: the .safetensors file: tensor \"a\" has more than 255 dimensions");
}

TEST(Safetensors, RandomDamageOfTheHeaderNeverCrashes) {
  SaverDriver saver(module());
  saver.write(one_of_each());
  const std::string whole = saver.files().contents.at(kFile);
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = whole;
    for (int n = static_cast<int>(random() % 4); n >= 0; --n)
      damaged[random() % 900 % damaged.size()] = static_cast<char>(random() % 128);
    outcome_of_reading(damaged);
  }
}

// Samples of other programs, with the verdict of the format's reference reader.
class SafetensorsSamples : public ::testing::Test {
 protected:
  static std::filesystem::path folder(const char* name) { return saver_test::samples("safetensors") / name; }
};

TEST_F(SafetensorsSamples, TheReferencesOwnVectorsGetItsVerdict) {
  const auto dir = folder("reference_vectors");
  if (!std::filesystem::exists(dir)) GTEST_SKIP() << "no samples at " << dir << "; set BELAY_SAMPLES_DIR";
  const auto expected = nlohmann::json::parse(read_bytes(dir / "EXPECTED.json"));
  for (const auto& [file, verdict] : expected.items()) {
    const std::string outcome = outcome_of_reading(read_bytes(dir / file));
    if (verdict == "ok")
      EXPECT_EQ(outcome, "") << file;
    else
      EXPECT_EQ(outcome.substr(0, 10), "DATA_LOSS:") << file << ": " << outcome;
  }
}

TEST_F(SafetensorsSamples, MalformedFilesAreRefusedForTheirOwnReason) {
  const auto dir = folder("malformed");
  if (!std::filesystem::exists(dir)) GTEST_SKIP() << "no samples at " << dir << "; set BELAY_SAMPLES_DIR";
  const std::map<std::string, std::string> messages = {
      {"not_an_object", "the header is a list, not an object"},
      {"duplicate_name", "tensor \"a\" occurs twice"},
      {"duplicate_name_escaped", "tensor \"a\" occurs twice"},
      {"second_value",
       "the header is no JSON at byte 11: \"syntax error while parsing value - unexpected '{'; expected "
       "end of input\""},
      {"metadata_is_tensor", "\"__metadata__\" holds strings only, but \"shape\" is a list"},
      {"no_dtype", "tensor \"a\" has no \"dtype\""},
      {"no_shape", "tensor \"a\" has no \"shape\""},
      {"no_offsets", "tensor \"a\" has no \"data_offsets\""},
      {"dim_fraction", "tensor \"a\" has the dimension 1.5"},
      {"dim_leading_zero",
       "the header is no JSON at byte 37: \"syntax error while parsing array - unexpected number "
       "literal; expected ']'\""},
      {"dim_too_large", "tensor \"a\" has the dimension 18446744073709551616"},
      {"unknown_dtype", "tensor \"a\" has the unknown dtype \"FLOAT32\""},
      {"bits_overflow", "tensor \"a\" has a shape whose size overflows 64 bits"},
      {"beyond_the_data", "the tensors need 2 bytes of data, the file has 1"},
      {"overlap", "tensor \"b\" begins at data byte 1, but the one before it ends at 2"},
      {"hole", "tensor \"b\" begins at data byte 2 and leaves a hole from 1"},
      {"data_after", "the tensors end at data byte 1, and 1 bytes follow them"},
      {"data_without_tensors", "the tensors end at data byte 0, and 1 bytes follow them"},
  };
  const auto expected = nlohmann::json::parse(read_bytes(dir / "EXPECTED.json"));
  for (const auto& [name, reason] : expected.items())
    EXPECT_EQ(outcome_of_reading(read_bytes(dir / (name + ".safetensors"))),
              "DATA_LOSS: the .safetensors file: " + messages.at(name))
        << reason;
}

}  // namespace safetensors_test
