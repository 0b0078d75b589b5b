// SPDX-License-Identifier: Apache-2.0
#include "record_file.h"

#include <belay/testing/error_of.h>
#include <belay/testing/temporary_folder.h>
#include <gtest/gtest.h>

#include <random>

#include "tfrecord_test_files.h"

namespace tfrecord_input {
namespace {

using belay::testing::error_of;
using belay::testing::TemporaryFolder;

class RecordFileTest : public ::testing::Test {
 protected:
  std::vector<std::string> read(const std::string& bytes) {
    const RecordFile file("files", folder_.write("a", bytes));
    std::vector<std::string> records;
    for (std::int64_t i = 0; i < file.records(); ++i) records.emplace_back(file.record(i));
    return records;
  }
  std::string error(const std::string& bytes) {
    return error_of([&] { read(bytes); });
  }
  TemporaryFolder folder_;
};

TEST_F(RecordFileTest, GivesTheRecordsPlainAndPacked) {
  for (const std::vector<std::string>& records :
       {std::vector<std::string>{"one"}, {"", "two", std::string(100000, 'x'), ""}}) {
    const std::string bytes = framed_all(records);
    EXPECT_EQ(read(bytes), records);
    EXPECT_EQ(read(gzipped(bytes)), records);
    EXPECT_EQ(read(gzipped(bytes.substr(0, 5)) + gzipped(bytes.substr(5))), records);  // gzip files may be joined
  }
}

TEST_F(RecordFileTest, TheChecksumIsTheOneOfTensorFlow) {
  // Castagnoli's checksum of these nine digits is e3069283.
  EXPECT_EQ(framed("123456789"),
            bytes_of(9, 8) + masked_checksum(bytes_of(9, 8)) + "123456789" +
                bytes_of(static_cast<std::uint32_t>((0xe3069283u >> 15 | 0xe3069283u << 17) + 0xa282ead8u), 4));
  EXPECT_EQ(read(framed("123456789")), std::vector<std::string>{"123456789"});
}

TEST_F(RecordFileTest, AFirstRecordWhoseLengthLooksLikeGzipIsPlain) {
  const std::vector<std::string> records{std::string(0x8b1f, 'x'), "y"};
  EXPECT_EQ(read(framed_all(records)), records);
}

TEST_F(RecordFileTest, KeepsItsRecordsWhenMoved) {
  for (const std::string& bytes : {framed(""), gzipped(framed(""))}) {
    RecordFile file("files", folder_.write("a", bytes));
    const RecordFile moved(std::move(file));
    EXPECT_EQ(moved.record(0), "");
  }
}

TEST_F(RecordFileTest, DamageIsToldWithFileAndRecord) {
  const std::string good = framed_all({"one", "two", "three"}), path = folder_.file("a");
  const std::size_t second = framed("one").size(), third = framed_all({"one", "two"}).size();
  const auto flipped = [&](std::size_t at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    return bad;
  };
  const struct {
    std::string bytes;
    std::string error;
  } cases[] = {
      {"", "FAILED_PRECONDITION: [B3021] files: '" + path + "' holds no records"},
      {gzipped(""), "FAILED_PRECONDITION: [B3021] files: '" + path + "' holds no records"},
      {"PK\3\4 some archive",
       "INVALID_ARGUMENT: [B3022] files: '" + path +
           "' is a zip archive (torch.save, Keras and numpy.savez write such), no TFRecord file: write its examples "
           "with tf.io.TFRecordWriter"},
      {flipped(0), "INVALID_ARGUMENT: [B3022] files: '" + path +
                       "' is no TFRecord file, plain or gzip: it does not begin with a length and its checksum"},
      {flipped(second), "DATA_LOSS: [B3023] '" + path +
                            "' record 1 is damaged: the checksum of its length is wrong; fetch the file again"},
      {flipped(second + 12),
       "DATA_LOSS: [B3023] '" + path + "' record 1 is damaged: its checksum is wrong; fetch the file again"},
      {flipped(good.size() - 1),
       "DATA_LOSS: [B3023] '" + path + "' record 2 is damaged: its checksum is wrong; fetch the file again"},
      {good.substr(0, third + 3),
       "DATA_LOSS: [B3023] '" + path + "' record 2 is cut short: the file ends in it; fetch it again"},
      {good.substr(0, good.size() - 1),
       "DATA_LOSS: [B3023] '" + path + "' record 2 is cut short: the file ends in it; fetch it again"},
      {bytes_of(~0ull, 8) + masked_checksum(bytes_of(~0ull, 8)) + "x",
       "DATA_LOSS: [B3023] '" + path + "' record 0 is cut short: the file ends in it; fetch it again"},
  };
  for (const auto& c : cases) EXPECT_EQ(error(c.bytes), c.error);
}

TEST_F(RecordFileTest, DamagedGzipIsTold) {
  const std::string packed = gzipped(framed_all({"one", "two"})), path = folder_.file("a");
  EXPECT_EQ(error(packed.substr(0, packed.size() - 1)),
            "DATA_LOSS: [B3023] files: '" + path +
                "' is damaged after byte 38 of its content: it was cut short; fetch it again");
  std::string bad = packed;
  bad[packed.size() - 6] = static_cast<char>(bad[packed.size() - 6] ^ 1);
  EXPECT_EQ(error(bad), "DATA_LOSS: [B3023] files: '" + path +
                            "' is damaged after byte 38 of its content: incorrect data check; fetch it again");
  EXPECT_EQ(error(packed + "x"), "DATA_LOSS: [B3023] files: '" + path +
                                     "' is damaged after byte 38 of its content: it was cut short; fetch it again");
}

TEST_F(RecordFileTest, GarbageIsAnErrorAndNeverACrash) {
  std::mt19937 random(11);
  const std::string plain = framed_all({"one", "two", "three"}), packed = gzipped(plain);
  for (int round = 0; round < 400; ++round) {
    std::string bytes = round % 2 == 0 ? plain : packed;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    error(bytes.substr(0, random() % (bytes.size() + 1)));
  }
}

}  // namespace
}  // namespace tfrecord_input
