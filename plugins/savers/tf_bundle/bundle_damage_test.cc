// SPDX-License-Identifier: Apache-2.0
// No damage goes unnoticed, or does more than an error.
#include <gtest/gtest.h>

#include <random>

#include "bundle_test_files.h"
#include "string_tensor.h"

namespace tf_bundle {
namespace {

TEST(TfBundleDamage, EveryTruncationIsFound) {
  SaverDriver saver(bundle_module());
  saver.write(one_of_each());
  EXPECT_EQ(saver.undetected_truncation(kIndex), "");
  EXPECT_EQ(saver.undetected_truncation(kData), "");
}

TEST(TfBundleDamage, EveryFlippedBitIsFound) {
  SaverDriver saver(bundle_module());
  saver.write(one_of_each());
  const auto whole = saver.files().contents;
  for (const char* name : {kIndex, kData}) {
    for (std::size_t bit = 0; bit < whole.at(name).size() * 8; ++bit) {
      std::string& bytes = saver.files().contents.at(name);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
      const std::string error = error_of([&] { saver.read(); });
      EXPECT_EQ(error.substr(0, 11), "DATA_LOSS: ") << name << " bit " << bit << ": " << error;
      bytes = whole.at(name);
    }
  }
}

TEST(TfBundleDamage, RandomDamageNeverCrashes) {
  SaverDriver saver(bundle_module());
  saver.write(one_of_each());
  const std::string whole = saver.files().contents.at(kIndex);
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (int n = static_cast<int>(random() % 4); n >= 0; --n)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    saver.files().contents[kIndex] = damaged;
    error_of([&] { saver.read(); });
  }
}

// A checksum would hide these faults. So the records are damaged before they are put into a table.
TEST(TfBundleDamage, RandomRecordsNeverCrash) {
  SaverDriver saver(bundle_module());
  saver.write(one_of_each());
  const Records whole = read_table(saver.files().contents.at(kIndex));
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    Records damaged = whole;
    for (int n = static_cast<int>(random() % 3); n >= 0; --n) {
      std::string& value = damaged[random() % damaged.size()].second;
      if (!value.empty()) value[random() % value.size()] = static_cast<char>(random());
    }
    saver.files().contents[kIndex] = write_table(damaged);
    error_of([&] { saver.read(std::set<std::string>{"f32", "words"}); });
  }
}

std::string strings_error(std::string_view bytes, std::uint64_t count, std::uint32_t crc = 0) {
  return error_of([&] { decode_strings(bytes, count, crc, false); });
}

TEST(TfBundleDamage, StringsSayWhatIsWrong) {
  const EncodedStrings two = encode_strings({"ab", "c"});
  EXPECT_EQ(two.bytes.size(), 2u + 4 + 3);
  EXPECT_EQ(strings_error(two.bytes, 2, two.crc), "");
  EXPECT_EQ(strings_error(two.bytes, 2, two.crc + 1), "DATA_LOSS: has a wrong checksum");
  EXPECT_EQ(strings_error(two.bytes, 1, two.crc), "DATA_LOSS: has 9 bytes, its strings need 7");
  EXPECT_EQ(strings_error(two.bytes, 10, two.crc), "DATA_LOSS: has 9 bytes for 10 strings");
  EXPECT_EQ(strings_error("\xff", 1), "DATA_LOSS: has a damaged length of a string at its byte 0");
  EXPECT_EQ(strings_error(std::string("\x7f\0\0\0\0", 5), 1),
            "DATA_LOSS: has strings that are longer than its 5 bytes");
  EXPECT_EQ(strings_error("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\1\1\1\1", 2),
            "DATA_LOSS: has strings that are longer than its 14 bytes");
  std::string other = two.bytes;
  other[2] = static_cast<char>(other[2] + 1);
  EXPECT_EQ(strings_error(other, 2, two.crc), "DATA_LOSS: has a wrong checksum of its strings' lengths");
  EXPECT_EQ(strings_error("", 0), "");
}

}  // namespace
}  // namespace tf_bundle
