// SPDX-License-Identifier: Apache-2.0
// Tests checkpoints that this plugin does not write: partitioned, in another byte order, of foreign types, malformed.
#include "bundle_index.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bundle_test_files.h"

namespace tf_bundle {
namespace {

// Puts a tensor [4, 6] of 0, 1, 2 ... in four parts into two files. The keys have both spellings.
void put_grid(
    SaverDriver& saver, const std::function<void(Records&)>& change = [](Records&) {}) {
  const std::vector<float> parts[4] = {
      {0, 1, 2, 6, 7, 8}, {3, 4, 5, 9, 10, 11}, {12, 13, 14, 15, 16, 17}, {18, 19, 20, 21, 22, 23}};
  const std::vector<Extent> extents[4] = {{{0, 2}, {0, 3}}, {{0, 2}, {3, 3}}, {{2, 1}, {0, -1}}, {{3, 1}, {0, 6}}};
  const std::string files[2] = {bytes_of(parts[0]) + bytes_of(parts[3]), bytes_of(parts[1]) + bytes_of(parts[2])};
  const std::pair<int, std::int64_t> places[4] = {{0, 0}, {1, 0}, {1, 24}, {0, 24}};
  pb::Entry whole = entry_of(DType::kFloat32, {4, 6}, 0, 0, "");
  Records records{header_record(2)};
  for (std::size_t i = 0; i < 4; ++i) {
    pb::Slice* slice = whole.add_slices();
    for (const Extent& e : extents[i]) {
      pb::Slice::Extent* extent = slice->add_extent();
      if (e.start != 0) extent->set_start(e.start);
      if (e.length >= 0) extent->set_length(e.length);
    }
    const Dims dims = i < 2 ? Dims{2, 3} : Dims{1, 6};
    records.emplace_back(
        slice_key("grid", extents[i]),
        entry_of(DType::kFloat32, dims, places[i].first, places[i].second, bytes_of(parts[i])).SerializeAsString());
  }
  records.emplace_back("grid", whole.SerializeAsString());
  std::sort(records.begin(), records.end());
  change(records);
  saver.files().contents = {
      {kIndex, write_table(records)}, {"model.data-00000-of-00002", files[0]}, {"model.data-00001-of-00002", files[1]}};
}

TEST(TfBundleIndex, SAVER_20_PartitionedVariablesAreReadAsOne) {
  SaverDriver saver(bundle_module());
  put_grid(saver);
  const NamedTensors found = saver.read();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first, "grid");
  EXPECT_EQ(found[0].second.dims(), (Dims{4, 6}));
  const belay::TensorView view(found[0].second);
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(view.data<const float>()[i], static_cast<float>(i));
}

TEST(TfBundleIndex, ADamagedOrMissingPartIsFound) {
  SaverDriver saver(bundle_module());
  put_grid(saver);
  saver.files().contents.at("model.data-00001-of-00002")[30] ^= 1;
  EXPECT_EQ(
      error_of([&] { saver.read(); }),
      "DATA_LOSS: [B4010] the checksum of tensor \"grid\" is wrong: bytes 24 to 48 of the .data-00001-of-00002 file");
  put_grid(saver, [](Records& records) { records.erase(records.begin() + 1); });
  EXPECT_EQ(error_of([&] { saver.read(); }),
            "DATA_LOSS: [B4040] the .index file: tensor \"grid\" has no entry for its slice [2, 3] at [0, 0]");
  put_grid(saver, [](Records& records) {
    pb::Entry entry;
    entry.ParseFromString(records.back().second);
    entry.mutable_slices()->DeleteSubrange(0, 1);
    records.back().second = entry.SerializeAsString();
  });
  EXPECT_EQ(error_of([&] { saver.read(); }),
            "DATA_LOSS: [B4040] the .index file: tensor \"grid\" has slices of 18 elements; it has 24");
}

TEST(TfBundleIndex, TheOtherByteOrderIsRead) {
  const std::string data("\x3f\x80\0\0\xc0\0\0\0\0\0\0\0\0\0\1\0", 16);
  const std::string f32 = data.substr(0, 8), i64 = data.substr(8);
  // The strings are "ab" and "". Lengths and checksum have the largest byte first.
  const std::uint32_t lengths = crc32c("\0\0\0\2\0\0\0\0", 8);
  std::string checksum = bytes_of(std::vector<std::uint32_t>{masked(lengths)});
  std::reverse(checksum.begin(), checksum.end());
  const std::string strings = std::string("\2\0", 2) + checksum + "ab";
  pb::Entry words = entry_of(DType::kString, {2}, 0, 16, strings);
  words.set_crc32c(masked(crc32c("ab", 2, crc32c(checksum.data(), 4, lengths))));
  SaverDriver saver(bundle_module());
  saver.files().contents = {{kIndex, write_table({header_record(1, 1),
                                                  {"f", entry_of(DType::kFloat32, {2}, 0, 0, f32).SerializeAsString()},
                                                  {"i", entry_of(DType::kInt64, {}, 0, 8, i64).SerializeAsString()},
                                                  {"w", words.SerializeAsString()}})},
                            {kData, data + strings}};
  const NamedTensors found = saver.read();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(belay::TensorView(found[0].second).data<const float>()[0], 1.f);
  EXPECT_EQ(belay::TensorView(found[0].second).data<const float>()[1], -2.f);
  EXPECT_EQ(belay::TensorView(found[1].second).scalar<std::int64_t>(), 256);
  EXPECT_EQ(belay::TensorView(found[2].second).text(0), "ab");
  EXPECT_EQ(belay::TensorView(found[2].second).text(1), "");
}

TEST(TfBundleIndex, TypesThatBelayDoesNotHaveAreListedAndRefusedOneByOne) {
  const std::string data("\1\2\3\4\0\0\x80\x3f", 8);
  pb::Entry variant = entry_of(DType::kFloat32, {}, 0, 0, data.substr(0, 3));
  variant.set_dtype(21);
  pb::Entry int8 = entry_of(DType::kFloat32, {4}, 0, 0, data.substr(0, 4));
  int8.set_dtype(6);
  SaverDriver saver(bundle_module());
  saver.files().contents = {
      {kIndex, write_table({header_record(),
                            {"a list", variant.SerializeAsString()},
                            {"int8", int8.SerializeAsString()},
                            {"w", entry_of(DType::kFloat32, {}, 0, 4, data.substr(4)).SerializeAsString()}})},
      {kData, data}};
  EXPECT_EQ(saver.read().size(), 1u);
  EXPECT_EQ(saver.announced(), (std::vector<std::string>{"a list", "int8", "w"}));
  EXPECT_EQ(error_of([&] { saver.read(std::set<std::string>{"int8"}); }),
            "UNIMPLEMENTED: 'int8' is of a type that belay does not have");
}

TEST(TfBundleIndex, BytesBetweenTensorsAreAllowed) {
  const std::string data = std::string(64, '\0') + bytes_of(std::vector<float>{1.5f}) + std::string(10, '\0');
  SaverDriver saver(bundle_module());
  saver.files().contents = {
      {kIndex, write_table({header_record(),
                            {"w", entry_of(DType::kFloat32, {}, 0, 64, data.substr(64, 4)).SerializeAsString()}})},
      {kData, data}};
  EXPECT_EQ(belay::TensorView(saver.read()[0].second).scalar<float>(), 1.5f);
}

std::string refusal(const Records& records) {
  return error_of([&] { parse_index(records); });
}
std::string refusal(const pb::Entry& entry) { return refusal({header_record(), {"w", entry.SerializeAsString()}}); }
std::string refusal(const pb::Header& header) { return refusal(Records{{"", header.SerializeAsString()}}); }

TEST(TfBundleIndex, EachRuleHasItsMessage) {
  const std::string w = "DATA_LOSS: [B4040] the .index file: tensor \"w\" ";
  EXPECT_EQ(refusal(Records{}), "DATA_LOSS: [B4040] the .index file has no header");
  EXPECT_EQ(refusal(Records{{"w", ""}}), "DATA_LOSS: [B4040] the .index file has no header");
  EXPECT_EQ(refusal({{"", "\xff"}}), "DATA_LOSS: [B4040] the .index file: its header is damaged");
  EXPECT_EQ(refusal({header_record(), {"b", ""}, {"a", ""}}),
            "DATA_LOSS: [B4040] the .index file: tensor \"a\" is not after tensor \"b\" in the order of names");
  pb::Header header;
  EXPECT_EQ(refusal(header), "DATA_LOSS: [B4040] the .index file counts 0 data files");
  header.set_num_shards(1);
  header.set_endianness(2);
  EXPECT_EQ(refusal(header), "DATA_LOSS: [B4040] the .index file has the unknown byte order 2");
  header.clear_endianness();
  header.mutable_version()->set_min_consumer(3);
  EXPECT_EQ(refusal(header),
            "UNIMPLEMENTED: [B4044] the .index file was written for readers of version 3, this one is of version 1");
  header.mutable_version()->set_min_consumer(0);
  header.mutable_version()->add_bad_consumers(1);
  EXPECT_EQ(refusal(header),
            "UNIMPLEMENTED: [B4044] the .index file was written for readers of version 2, this one is of version 1");
  EXPECT_EQ(refusal({header_record(), {"w", "\xff"}}), w + "has a damaged entry");

  const pb::Entry good = entry_of(DType::kFloat32, {2}, 0, 0, "12345678");
  EXPECT_EQ(refusal(good), "");
  pb::Entry bad = good;
  bad.set_shard_id(1);
  EXPECT_EQ(refusal(bad), w + "is in data file 1, but there are 1");
  bad = good;
  bad.set_size(7);
  EXPECT_EQ(refusal(bad), w + "has 7 bytes; float32 [2] has 8");
  bad = good;
  bad.set_offset(-1);
  EXPECT_EQ(refusal(bad), w + "has 8 bytes at offset -1");
  bad.set_offset(INT64_MAX);
  EXPECT_EQ(refusal(bad), w + "has 8 bytes at offset 9223372036854775807");
  bad = good;
  bad.mutable_shape()->set_unknown_rank(true);
  EXPECT_EQ(refusal(bad), w + "has no shape");
  bad = good;
  bad.mutable_shape()->mutable_dim(0)->set_size(-2);
  EXPECT_EQ(refusal(bad), w + "has the dimension -2");
  bad.mutable_shape()->mutable_dim(0)->set_size(INT64_MAX);
  bad.mutable_shape()->add_dim()->set_size(2);
  EXPECT_EQ(refusal(bad), w + "has a shape whose size overflows 63 bits");
  bad = good;
  for (int i = 0; i < 300; ++i) bad.mutable_shape()->add_dim()->set_size(1);
  EXPECT_EQ(refusal(bad), w + "has 301 dimensions");
  bad = good;
  bad.add_slices();
  EXPECT_EQ(refusal(bad), w + "has a slice of 0 dimensions");
  bad.mutable_slices(0)->add_extent();
  EXPECT_EQ(refusal(bad), w + "has no entry for its slice [2] at [0]");
}

}  // namespace
}  // namespace tf_bundle
