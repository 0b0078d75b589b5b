// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/record_reader.h"

#include <gtest/gtest.h>

#include <fstream>

#include "belay/error.h"
#include "runtime/events/record_writer.h"
#include "runtime/platform/files/crc32c.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

// A record file as a small language.
class RecordFile : public ::testing::Test {
 protected:
  static std::string framed(const std::vector<std::string>& records) {
    std::string bytes;
    for (const std::string& r : records) append_record(bytes, r);
    return bytes;
  }
  void put(const std::string& bytes) { std::ofstream(path(), std::ios::binary | std::ios::trunc) << bytes; }
  void append(const std::string& bytes) { std::ofstream(path(), std::ios::binary | std::ios::app) << bytes; }
  std::string path() const { return dir_ / "records"; }
  // All records to the end, or the error's message as the last.
  static std::vector<std::string> all(RecordReader& reader) {
    std::vector<std::string> records;
    std::string record;
    try {
      while (reader.next(record)) records.push_back(record);
    } catch (const Error& e) {
      records.push_back(std::string(code_name(e.code())) + ": " + e.what());
    }
    return records;
  }
  std::unique_ptr<OpenFile> open() { return posix_file_system().open_directory(dir_.path())->open("records"); }

  TempDir dir_;
};

TEST_F(RecordFile, RecordsComeBackInOrder) {
  const std::vector<std::string> records = {"one", "", std::string(100'000, 'x'), std::string("\0\xff", 2)};
  put(framed(records));
  const auto file = open();
  RecordReader reader(*file);
  EXPECT_EQ(all(reader), records);
  EXPECT_EQ(reader.offset(), file->size());
}

TEST_F(RecordFile, AnEmptyFileHoldsNothing) {
  put("");
  const auto file = open();
  RecordReader reader(*file);
  EXPECT_TRUE(all(reader).empty());
}

TEST_F(RecordFile, ATornTailIsNotYet) {
  const std::string whole = framed({"first", "second"});
  const std::size_t first = framed({"first"}).size();
  for (std::size_t n = first; n < whole.size(); ++n) {
    put(whole.substr(0, n));
    const auto file = open();
    RecordReader reader(*file);
    EXPECT_EQ(all(reader), std::vector<std::string>{"first"}) << n;
    append(whole.substr(n));
    EXPECT_EQ(all(reader), std::vector<std::string>{"second"}) << n;
  }
}

TEST_F(RecordFile, DamagedDataIsNamedAndTheNextRecordIsRead) {
  std::string bytes = framed({"first", "second", "third"});
  const std::size_t at = framed({"first"}).size();
  bytes[at + kRecordHead] ^= 1;
  put(bytes);
  const auto file = open();
  RecordReader reader(*file);
  EXPECT_EQ(all(reader), (std::vector<std::string>{
                             "first", "DATA_LOSS: '" + path() + "': the record at byte " + std::to_string(at) +
                                          " has a content of masked CRC32C a0e61673, but the stored one is cad3e0d3"}));
  EXPECT_EQ(all(reader), std::vector<std::string>{"third"});
}

TEST_F(RecordFile, BehindADamagedLengthNothingIsRead) {
  std::string bytes = framed({"first", "second", "third"});
  bytes[framed({"first"}).size()] ^= 1;
  put(bytes);
  const auto file = open();
  RecordReader reader(*file);
  const std::vector<std::string> found = all(reader);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].substr(0, 10), "DATA_LOSS:");
  EXPECT_EQ(all(reader), std::vector<std::string>{found[1]});
}

TEST_F(RecordFile, EveryFlippedBitIsFound) {
  const std::vector<std::string> records = {"first", "second"};
  const std::string whole = framed(records);
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    put(damaged);
    const auto file = open();
    RecordReader reader(*file);
    EXPECT_NE(all(reader), records) << bit;
  }
}

// The checksum belongs to the length, so only the file's own size shows that it cannot be.
TEST_F(RecordFile, AHugeLengthTakesNoMemory) {
  for (const std::uint64_t length : {std::uint64_t{5}, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(length >> (8 * i)));
    const std::uint32_t crc = masked_crc(crc32c(bytes));
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(crc >> (8 * i)));
    put(bytes + std::string(8, '\0'));
    const auto file = open();
    RecordReader reader(*file);
    EXPECT_EQ(all(reader), std::vector<std::string>{}) << length;
    EXPECT_EQ(reader.offset(), 0u) << length;
  }
}

}  // namespace
}  // namespace belay::runtime
