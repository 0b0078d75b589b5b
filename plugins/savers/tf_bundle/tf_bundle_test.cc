// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "bundle_test_files.h"

namespace tf_bundle {
namespace {

std::vector<std::string> file_names(SaverDriver& saver) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : saver.files().contents) names.push_back(name);
  return names;
}

TEST(TfBundle, EveryTypeComesBackBitForBit) {
  SaverDriver saver(bundle_module());
  EXPECT_EQ(saver.difference_after_round_trip(one_of_each()), "");
  EXPECT_EQ(file_names(saver), (std::vector<std::string>{kData, kIndex}));
}

TEST(TfBundle, NoTensorsAreACheckpointToo) {
  SaverDriver saver(bundle_module());
  EXPECT_EQ(saver.difference_after_round_trip({}), "");
  EXPECT_EQ(saver.files().contents.at(kData), "");
}

TEST(TfBundle, TheFilesDoNotDependOnTheOrderOfTheVariablesAndAreTheSameEachTime) {
  SaverDriver saver(bundle_module()), another(bundle_module());
  NamedTensors tensors = one_of_each();
  saver.write(tensors);
  const auto first = saver.files().contents;
  std::reverse(tensors.begin(), tensors.end());
  another.write(tensors);
  EXPECT_EQ(another.files().contents, first);
  another.write(saver.read());  // converted
  EXPECT_EQ(another.files().contents, first);
}

TEST(TfBundle, TheDataLiesInTheOrderOfTheNames) {
  SaverDriver saver(bundle_module());
  saver.write({{"b", belay::Tensor(Dims{1}, {std::uint8_t{7}})}, {"a", belay::Tensor(Dims{2}, {1.f, 2.f})}});
  EXPECT_EQ(saver.files().contents.at(kData), std::string("\0\0\x80\x3f\0\0\0\x40\x07", 9));
}

TEST(TfBundle, ShardsHoldWhatOneFileHolds) {
  SaverDriver saver(bundle_module(), {{"shard_bytes", std::int64_t{64}}});
  EXPECT_EQ(saver.difference_after_round_trip(one_of_each()), "");
  const std::vector<std::string> names = file_names(saver);
  ASSERT_GT(names.size(), 4u);
  const std::string count = std::to_string(names.size() - 1);
  EXPECT_EQ(names.front(), "model.data-00000-of-0000" + count);
  std::size_t larger = 0;
  for (const auto& [name, bytes] : saver.files().contents) larger += name != kIndex && bytes.size() > 64 ? 1 : 0;
  EXPECT_EQ(larger, 1u) << "only the one tensor that has more bytes by itself";
}

TEST(TfBundle, ATensorThatFitsAShardExactlyIsInIt) {
  SaverDriver saver(bundle_module(), {{"shard_bytes", std::int64_t{16}}});
  saver.write({{"a", of_type(DType::kFloat32, {2}, 1)},
               {"b", of_type(DType::kFloat32, {2}, 2)},
               {"c", of_type(DType::kFloat32, {1}, 3)}});
  EXPECT_EQ(saver.files().contents.at("model.data-00000-of-00002").size(), 16u);
  EXPECT_EQ(saver.files().contents.at("model.data-00001-of-00002").size(), 4u);
}

TEST(TfBundle, OnlyWantedTensorsAreRead) {
  SaverDriver saver(bundle_module());
  saver.write(one_of_each());
  const NamedTensors found = saver.read(std::set<std::string>{"f64", "u8"});
  EXPECT_EQ(found.size(), 2u);
  EXPECT_EQ(saver.announced().size(), one_of_each().size());
}

TEST(TfBundle, AMissingIndexIsNotFound) {
  SaverDriver saver(bundle_module());
  EXPECT_EQ(error_of([&] { saver.read(); }), "NOT_FOUND: cannot open 'model.index': no such file");
}

TEST(TfBundle, AMissingShardIsNamedAndTheOthersAreRead) {
  SaverDriver saver(bundle_module(), {{"shard_bytes", std::int64_t{8}}});
  saver.write({{"a", of_type(DType::kFloat32, {2}, 1)}, {"b", of_type(DType::kFloat32, {2}, 2)}});
  saver.files().contents.erase("model.data-00001-of-00002");
  EXPECT_EQ(saver.read(std::set<std::string>{"a"}).size(), 1u);
  EXPECT_EQ(saver.announced(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(error_of([&] { saver.read(); }),
            "DATA_LOSS: [B4043] the .data-00001-of-00002 file is missing, which has tensor \"b\"");
}

TEST(TfBundle, AFullDiskEndsTheWriteAtEveryByte) {
  SaverDriver saver(bundle_module());
  saver.write(one_of_each());
  std::size_t size = 0;
  for (const auto& [name, bytes] : saver.files().contents) size += bytes.size();
  for (std::size_t room = 0; room < size; ++room) {
    saver.files().fill_up_after(room);
    EXPECT_EQ(error_of([&] { saver.write(one_of_each()); }).substr(0, 18), "RESOURCE_EXHAUSTED") << room;
  }
  saver.files().fill_up_after(size);
  EXPECT_EQ(saver.difference_after_round_trip(one_of_each()), "");
}

TEST(TfBundle, RefusesNamesThatTheFormatKeepsForItself) {
  SaverDriver saver(bundle_module());
  for (const std::string& name : {std::string(), std::string("\0a", 2)})
    EXPECT_EQ(
        error_of([&] {
          saver.write({{name, belay::Tensor(1.f)}});
        }),
        "INVALID_ARGUMENT: [B4042] the format reserves names that are empty or begin with a NUL; rename this variable");
}

TEST(TfBundle, TensorsLargerThanAPieceComeBackBitForBit) {
  SaverDriver saver(bundle_module());
  EXPECT_EQ(saver.difference_after_round_trip({{"large", of_type(DType::kFloat32, {1'300'001}, 1)},
                                               {"middle", of_type(DType::kUInt8, {(1 << 18) + 1}, 2)},
                                               {"exact", of_type(DType::kUInt8, {1 << 18}, 3)}}),
            "");
}

}  // namespace
}  // namespace tf_bundle
