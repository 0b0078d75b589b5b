// SPDX-License-Identifier: Apache-2.0
// Other readers read the index: LevelDB alone, and protoc without our messages.
#include "index_table.h"

#include <gtest/gtest.h>
#include <leveldb/env.h>
#include <leveldb/iterator.h>
#include <leveldb/table.h>
#include <leveldb/table_builder.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>

#include "belay/testing/temporary_folder.h"
#include "bundle_test_files.h"

namespace tf_bundle {
namespace {

// Reads a file on disk through LevelDB's environment.
Records read_by_leveldb(const std::string& path) {
  leveldb::RandomAccessFile* raw = nullptr;
  EXPECT_TRUE(leveldb::Env::Default()->NewRandomAccessFile(path, &raw).ok());
  const std::unique_ptr<leveldb::RandomAccessFile> file(raw);
  leveldb::Table* opened = nullptr;
  EXPECT_TRUE(leveldb::Table::Open({}, raw, std::filesystem::file_size(path), &opened).ok());
  const std::unique_ptr<leveldb::Table> table(opened);
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  const std::unique_ptr<leveldb::Iterator> it(table->NewIterator(options));
  Records records;
  for (it->SeekToFirst(); it->Valid(); it->Next()) records.emplace_back(it->key().ToString(), it->value().ToString());
  EXPECT_TRUE(it->status().ok());
  return records;
}

std::string decoded_by_protoc(const std::string& path) {
  const std::string command = "protoc --decode_raw < '" + path + "' 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> buffer{};
  for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) text.append(buffer.data(), n);
  return text;
}

class IndexTableOnDisk : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& bytes) { std::ofstream(path(name), std::ios::binary) << bytes; }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string decoded(const std::string& value) {
    put("value", value);
    return decoded_by_protoc(path("value"));
  }
  belay::testing::TemporaryFolder folder_;
};

TEST_F(IndexTableOnDisk, LevelDbAndProtocReadWhatWasWritten) {
  SaverDriver saver(bundle_module());
  saver.write({{"w", belay::Tensor(Dims{2, 1}, {1.f, 2.f})}, {"step", belay::Tensor(std::int64_t{7})}});
  put("model.index", saver.files().contents.at(kIndex));
  const Records records = read_by_leveldb(path("model.index"));
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].first, "");
  EXPECT_EQ(decoded(records[0].second), "1: 1\n3 {\n  1: 1\n}\n");
  EXPECT_EQ(records[1].first, "step");
  char expected[200];
  std::snprintf(expected, sizeof(expected), "1: 9\n2: \"\"\n5: 8\n6: 0x%08x\n", masked(crc32c("\7\0\0\0\0\0\0\0", 8)));
  EXPECT_EQ(decoded(records[1].second), expected);
  EXPECT_EQ(records[2].first, "w");
  std::snprintf(expected, sizeof(expected),
                "1: 1\n2 {\n  2 {\n    1: 2\n  }\n  2 {\n    1: 1\n  }\n}\n4: 8\n5: 8\n6: 0x%08x\n",
                masked(crc32c("\0\0\x80\x3f\0\0\0\x40", 8)));
  EXPECT_EQ(decoded(records[2].second), expected);
  EXPECT_EQ(saver.files().contents.at(kData).substr(8), std::string("\0\0\x80\x3f\0\0\0\x40", 8));
}

Records many_records(int n) {
  Records records;
  for (int i = 0; i < n; ++i) records.emplace_back("layer/" + std::to_string(1'000'000 + i), std::string(40, 'v'));
  return records;
}

TEST_F(IndexTableOnDisk, ManyBlocksComeBack) {
  const Records records = many_records(20'000);
  const std::string table = write_table(records);
  EXPECT_GT(table.size(), 2u << 18);
  EXPECT_EQ(read_table(table), records);
  put("many", table);
  EXPECT_EQ(read_by_leveldb(path("many")), records);
}

TEST_F(IndexTableOnDisk, PackedBlocksAreReadToo) {
  leveldb::Options options;
  options.compression = leveldb::kSnappyCompression;
  leveldb::WritableFile* raw = nullptr;
  ASSERT_TRUE(leveldb::Env::Default()->NewWritableFile(path("packed"), &raw).ok());
  const std::unique_ptr<leveldb::WritableFile> file(raw);
  leveldb::TableBuilder builder(options, raw);
  const Records records = many_records(1000);
  for (const auto& [key, value] : records) builder.Add(key, value);
  ASSERT_TRUE(builder.Finish().ok());
  ASSERT_TRUE(file->Close().ok());
  std::ifstream in(path("packed"), std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  EXPECT_LT(bytes.size(), 20'000u);
  EXPECT_EQ(read_table(bytes), records);
}

TEST(IndexTable, NoRecordsAreATableToo) { EXPECT_EQ(read_table(write_table({})), Records{}); }

TEST(IndexTable, WhatIsNoTableIsRefused) {
  EXPECT_EQ(error_of([] { read_table(""); }),
            "DATA_LOSS: [B4040] the .index file is damaged: it has 0 bytes; its footer alone has 48");
  EXPECT_EQ(
      error_of([] { read_table(std::string(100, 'x')); }),
      "DATA_LOSS: [B4041] the .index file is damaged: its last 8 bytes are not those of a table; it is cut off, or no "
      ".index file");
}

// In a hostile file every checksum may be right.
TEST(IndexTable, ABlockThatClaimsMoreThanThereIsIsRefused) {
  const std::string table = write_table(many_records(3));
  const std::string footer = table.substr(table.size() - 48);
  for (const std::string& size :
       {std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),  // 2^64 - 1
        std::string("\xfb\xff\xff\xff\xff\xff\xff\xff\xff\x01"),  // 5 less: 0 with its trailer
        std::string("\x80\x80\x80\x20")}) {                       // 64 MiB
    // The index block has one entry: the key "z" for the block of that size at byte 0.
    const std::string handle = '\0' + size;
    std::string block = std::string("\0\1", 2) + static_cast<char>(handle.size()) + "z" + handle;
    block += std::string("\0\0\0\0\1\0\0\0\0", 9);  // one restart, at 0; not packed
    const std::uint32_t crc = masked(crc32c(block.data(), block.size()));
    const std::string metaindex("\0\0\0\0\1\0\0\0\0", 9);
    const std::uint32_t meta_crc = masked(crc32c(metaindex.data(), metaindex.size()));
    std::string file =
        metaindex + bytes_of(std::vector<std::uint32_t>{meta_crc}) + block + bytes_of(std::vector<std::uint32_t>{crc});
    std::string handles = {'\0', '\x8', '\xd', static_cast<char>(block.size() - 1)};
    handles.resize(40, '\0');
    file += handles + footer.substr(40);
    const std::string error = error_of([&] { read_table(file); });
    EXPECT_TRUE(error.starts_with("DATA_LOSS: [B4040] the .index file is damaged: C")) << error;
  }
}

}  // namespace
}  // namespace tf_bundle
