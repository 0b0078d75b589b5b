// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/format/index.h"

#include <gtest/gtest.h>

#include "runtime/platform/files/crc32c.h"
#include "tests/checkpoint/checkpoint_fixture.h"

namespace belay::runtime {
namespace {

CheckpointIndex example_index() {
  CheckpointIndex index;
  index.saver = "safetensors";
  index.saver_version = "1.0.0";
  index.graph_hash = "5c0e";
  index.global_step = 2000;
  index.files = {{"model.safetensors", 407096, 0x0e5d3e2a}, {"state", 512, 0x89ab01ff}};
  index.tensors = {{{"hidden/kernel", DType::kFloat32, {784, 128}}, 0x77aa5501},
                   {{"step \"n\" \xc3\xa9", DType::kInt64, {}}, 1}};
  return index;
}

// An index with the right checksum, so that only its content can be wrong.
std::string sealed(std::string_view body) {
  return std::string(body) + ",\n \"crc32c\": \"" + crc_text(crc32c(body)) + "\"\n}\n";
}
std::string body_with(std::string_view files, std::string_view tensors, std::string_view format = "1") {
  return "{\"format\": " + std::string(format) +
         ", \"writer\": \"belay 2.3\", \"saver\": {\"name\": \"s\", \"version\": \"1\"}, " +
         "\"graph_hash\": \"\", \"global_step\": 1, \"files\": [" + std::string(files) + "], \"tensors\": [" +
         std::string(tensors) + "]";
}
constexpr const char* kState = R"({"name": "state", "length": 1, "crc32c": "00000000"})";

std::string index_outcome(const std::string& text) {
  return error_of([&] { parse_index(text); });
}

TEST(Index, ComesBackAsItWas) { EXPECT_EQ(parse_index(format_index(example_index())), example_index()); }

TEST(Index, HasOneFileOrTensorPerLine) {
  EXPECT_EQ(
      format_index(example_index()),
      R"({
 "format": 1,
 "writer": "belay )" BELAY_VERSION R"(",
 "saver": {"name":"safetensors","version":"1.0.0"},
 "graph_hash": "5c0e",
 "global_step": 2000,
 "files": [
  {"name":"model.safetensors","length":407096,"crc32c":"0e5d3e2a"},
  {"name":"state","length":512,"crc32c":"89ab01ff"}
 ],
 "tensors": [
  {"name":"hidden/kernel","dtype":"float32","shape":[784,128],"crc32c":"77aa5501"},
  {"name":"step \"n\" é","dtype":"int64","shape":[],"crc32c":"00000001"}
 ],
 "crc32c": ")" +
          crc_text(crc32c(
              std::string_view(format_index(example_index())).substr(0, format_index(example_index()).size() - 26))) +
          "\"\n}\n");
}

TEST(Index, EveryFlippedBitIsFound) {
  const std::string whole = format_index(example_index());
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      EXPECT_EQ(index_outcome(damaged).substr(0, 10), "DATA_LOSS:") << i << " " << bit;
    }
}

TEST(Index, AChangedByteHasTheCodeOfAWrongChecksum) {
  std::string damaged = format_index(example_index());
  damaged[3] = 'F';
  EXPECT_TRUE(index_outcome(damaged).starts_with("DATA_LOSS: [B4010] its CRC32C is ")) << index_outcome(damaged);
}

TEST(Index, EveryTruncationIsFound) {
  const std::string whole = format_index(example_index());
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_EQ(index_outcome(whole.substr(0, n)).substr(0, 10), "DATA_LOSS:") << n;
  EXPECT_EQ(index_outcome(whole + " ").substr(0, 10), "DATA_LOSS:");
}

TEST(Index, ALaterFormatNamesItsWriter) {
  EXPECT_EQ(index_outcome(sealed(R"({"format": 2, "writer": "belay 2.3", "more": {})")),
            "FAILED_PRECONDITION: [B4004] it was written by belay 2.3 in format 2; this is belay " BELAY_VERSION
            ", which reads format 1: use a newer belay");
}

TEST(Index, EachHostileFieldHasItsMessage) {
  const std::string tensor = R"({"name": "t", "dtype": "uint8", "shape": [1], "crc32c": "00000000"})";
  const auto with_shape = [](const char* shape) {
    return R"({"name": "t", "dtype": "float32", "shape": )" + std::string(shape) + R"(, "crc32c": "00000000"})";
  };
  const struct {
    std::string body, expected;
  } cases[] = {
      {"{\"format\": 1", "format and writer are missing"},
      {body_with(kState, tensor, "0"), "format is 0"},
      {body_with(kState, tensor, "1.5"), "format and writer are missing"},
      {body_with("", tensor), "files has no \"state\""},
      {body_with(std::string(kState) + "," + kState, tensor), "files[1].name is \"state\" a second time"},
      {body_with(R"({"name": "../x", "length": 1, "crc32c": "00000000"})", ""),
       "files[0].name is \"../x\", which is no file of a checkpoint"},
      {body_with(R"({"name": "..", "length": 1, "crc32c": "00000000"})", ""),
       "files[0].name is \"..\", which is no file of a checkpoint"},
      {body_with(R"({"name": "/etc/passwd", "length": 1, "crc32c": "00000000"})", ""),
       "files[0].name is \"/etc/passwd\", which is no file of a checkpoint"},
      {body_with(R"({"name": "a\u0000b", "length": 1, "crc32c": "00000000"})", ""),
       "files[0].name is \"a\\x00b\", which is no file of a checkpoint"},
      {body_with(R"({"name": "index", "length": 1, "crc32c": "00000000"})", ""),
       "files[0].name is \"index\", which is no file of a checkpoint"},
      {body_with(R"({"name": "a", "length": 9223372036854775808, "crc32c": "00000000"})", ""),
       "files[0].length is no integer below 9223372036854775808"},
      {body_with(R"({"name": "a", "length": 18446744073709551616, "crc32c": "00000000"})", ""),
       "files[0].length is no integer that is zero or more"},
      {body_with(R"({"name": "a", "length": -1, "crc32c": "00000000"})", ""),
       "files[0].length is no integer that is zero or more"},
      {body_with(R"({"name": "a", "length": 1, "crc32c": "0000000G"})", ""),
       "files[0].crc32c is no CRC32C of eight digits"},
      {body_with(R"({"name": "a", "length": 1})", ""), "files[0].crc32c is missing"},
      {body_with(R"({"name": "a", "length": 1, "crc32c": "00000000", "path": "x"})", ""), "files[0].path is unknown"},
      {body_with(R"({"name": "a", "name": "b", "length": 1, "crc32c": "00000000"})", ""),
       "the key \"name\" occurs twice in one object"},
      {body_with("7", ""), "files[0] is no object"},
      {body_with(kState, tensor + "," + tensor), "tensors holds \"t\" twice"},
      {body_with(kState, R"({"name": "", "dtype": "uint8", "shape": [1], "crc32c": "00000000"})"),
       "tensors[0].name is \"\", which is no tensor's name"},
      {body_with(kState, R"({"name": "t", "dtype": "string", "shape": [1], "crc32c": "00000000"})"),
       "tensors[0].dtype is \"string\", which belay does not store"},
      {body_with(kState, with_shape("[4611686018427387904, 4]")),
       "tensors[0].shape is [4611686018427387904, 4], whose size overflows"},
      {body_with(kState, with_shape("[0, 4611686018427387904, 4]")),
       "tensors[0].shape is [0, 4611686018427387904, 4], whose size overflows"},
      {body_with(kState, with_shape("[9223372036854775808]")), "tensors[0].shape holds what is no dimension"},
      {body_with(kState, with_shape("[-1]")), "tensors[0].shape holds what is no dimension"},
      {body_with(kState, with_shape("[1.0]")), "tensors[0].shape holds what is no dimension"},
      {body_with(kState, with_shape("3")), "tensors[0].shape is no list"},
      {body_with(kState, with_shape(std::string(40, '[').c_str())), "it is nested deeper than 16 levels"},
      {"[1]", "it is no JSON at byte 3"},
  };
  for (const auto& c : cases) EXPECT_EQ(index_outcome(sealed(c.body)), "DATA_LOSS: [B4012] " + c.expected) << c.body;
}

TEST(Index, HugeOnesAreRefused) {
  std::string many = "{\"format\": 1, \"writer\": \"w\", \"files\": [0";
  while (many.size() < kMaxIndexBytes - 100) many += ",0";
  const std::string deep = "{\"format\": 1, \"writer\": \"w\", \"files\": " + std::string(300, '[');
  const std::string too_long = sealed(std::string(kMaxIndexBytes, ' '));
  EXPECT_EQ(index_outcome(sealed(many + "]")), "DATA_LOSS: [B4012] it has more than 4000000 values");
  EXPECT_EQ(index_outcome(sealed(deep)), "DATA_LOSS: [B4012] it is nested deeper than 16 levels");
  EXPECT_EQ(index_outcome(too_long), "DATA_LOSS: [B4012] it has 67108890 bytes, at most 67108864 are read");
}

TEST(Index, WhatCouldNotBeReadIsNotWritten) {
  CheckpointIndex bad_name = example_index();
  bad_name.tensors[0].name = "a\xff";
  EXPECT_EQ(error_of([&] { format_index(bad_name); }), "INVALID_ARGUMENT: [B4005] a name in the index is not UTF-8");
  CheckpointIndex large = example_index();
  large.tensors[0].name = std::string(65 << 20, 'x');
  EXPECT_EQ(
      error_of([&] { format_index(large); }),
      "RESOURCE_EXHAUSTED: [B4003] the index of 2 tensors would have " +
          std::to_string(format_index(example_index()).size() - std::string("hidden/kernel").size() + (65 << 20)) +
          " bytes, at most 67108864 are read");
}

// The variables of a model as 100,000 of adam's are: each with two slots.
std::vector<TensorInfo> with_slots(std::size_t n) {
  std::vector<TensorInfo> variables = {{"global_step", DType::kInt64, {}}};
  for (std::size_t i = 0; i < n; ++i)
    for (const char* slot : {"", "/adam/m", "/adam/v"})
      variables.push_back({"layers/" + std::to_string(i) + "/kernel" + slot, DType::kFloat32, {1, 1}});
  return variables;
}

// Issue 33, point 6.
TEST(Index, HasRoomForAHundredThousandVariablesWithTheirSlots) {
  CheckpointIndex index = example_index();
  for (const TensorInfo& v : with_slots(100'000)) index.tensors.push_back({v, 7});
  const std::string text = format_index(index);
  EXPECT_GT(text.size(), std::size_t{23} << 20);
  EXPECT_EQ(parse_index(text), index);
  check_index_holds(with_slots(100'000));
}

// Issue 33, point 6.
TEST(Index, MoreVariablesThanItHoldsAreRefusedBeforeTheFirstStepWithTheirNumber) {
  constexpr const char* kAdvice =
      "; make fewer and larger ones (layers that are alike as one array), give them shorter names, or train without "
      "checkpoints (save_secs = 0 in [checkpoint])";
  const std::vector<TensorInfo> many = with_slots(125'000);
  EXPECT_EQ(error_of([&] { check_index_holds(many); }),
            "RESOURCE_EXHAUSTED: [B4003] the model has 375001 variables, more than a checkpoint holds: the index of "
            "375001 tensors would have 4125029 values, at most 4000000 are read" +
                std::string(kAdvice));
  const std::vector<TensorInfo> long_names = {{std::string(33 << 20, 'a'), DType::kFloat32, {}},
                                              {std::string(33 << 20, 'b'), DType::kFloat32, {}}};
  const std::string refused = error_of([&] { check_index_holds(long_names); });
  EXPECT_TRUE(
      refused.starts_with("RESOURCE_EXHAUSTED: [B4003] the model has 2 variables, more than a checkpoint holds: the "
                          "index of 2 tensors would have "))
      << refused.substr(0, 200);
  EXPECT_TRUE(refused.ends_with(" bytes, at most 67108864 are read" + std::string(kAdvice)));
  // If a save refuses something for another reason, the save names it.
  EXPECT_EQ(error_of([&] { check_index_holds({{"a\xff", DType::kFloat32, {}}}); }), "");
}

}  // namespace
}  // namespace belay::runtime
