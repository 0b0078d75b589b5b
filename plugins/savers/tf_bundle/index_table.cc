// SPDX-License-Identifier: Apache-2.0
#include "index_table.h"

#include <belay/error.h>
#include <belay/file_kind.h>
#include <google/protobuf/io/coded_stream.h>
#include <leveldb/env.h>
#include <leveldb/iterator.h>
#include <leveldb/options.h>
#include <leveldb/table.h>
#include <leveldb/table_builder.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "crc32c.h"

namespace tf_bundle {
namespace {

using belay::Code;
using belay::fail;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

constexpr std::uint64_t kFooter = 48, kHandles = 40, kTrailer = 5;  // a block's trailer has its type and its checksum
constexpr std::uint64_t kMagic = 0xdb4775248b80fb57;
constexpr std::size_t kBlockSize = 262144;  // TensorFlow's size

[[noreturn]] void bad_table(const std::string& text) {
  fail(Code::kDataLoss, "[B4040] the .index file is damaged: " + text);
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

struct Block {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // after its trailer
};

// The file's bytes for LevelDB. It takes lengths from the file and allocates memory by them. So each request is checked
// here before any byte is used.
class TableBytes final : public leveldb::RandomAccessFile {
 public:
  explicit TableBytes(std::string_view bytes) : bytes_(bytes) {}

  leveldb::Status Read(std::uint64_t offset, std::size_t n, leveldb::Slice* result, char*) const override {
    last_ = offset;
    // A length near 2^64 arrives here as a small one, since LevelDB added the trailer's length.
    constexpr std::uint64_t kLeast = 8 + kTrailer;
    if (n < kLeast || offset > bytes_.size() || n > bytes_.size() - offset)
      return leveldb::Status::Corruption("a block of " + std::to_string(n) + " bytes cannot lie there");
    const std::string_view block = bytes_.substr(static_cast<std::size_t>(offset), n);
    const bool is_footer = n == kFooter && offset == bytes_.size() - kFooter;
    if (!is_footer && !can_unpack(block)) return leveldb::Status::Corruption("a block claims more bytes than it can");
    if (!is_footer) blocks_.push_back({offset, offset + n});
    *result = leveldb::Slice(block.data(), block.size());
    return leveldb::Status::OK();
  }

  // The start of the last request.
  std::uint64_t last() const { return last_; }
  std::vector<Block> blocks() const { return blocks_; }

 private:
  // A block that Snappy packed begins with its length. LevelDB allocates memory by it.
  static bool can_unpack(std::string_view block) {
    constexpr char kSnappy = 1;
    constexpr std::uint64_t kMostPerByte = 32;  // three bytes of Snappy unpack to 64 bytes at most
    if (block[block.size() - kTrailer] != kSnappy) return true;
    CodedInputStream in(reinterpret_cast<const std::uint8_t*>(block.data()), 10);
    std::uint32_t length = 0;
    return in.ReadVarint32(&length) && length <= kMostPerByte * block.size();
  }

  std::string_view bytes_;
  mutable std::uint64_t last_ = 0;
  mutable std::vector<Block> blocks_;
};

// Returns the two blocks that the footer names, the metaindex first.
std::pair<Block, Block> read_footer(std::string_view file) {
  if (file.size() < kFooter)
    bad_table("it has " + std::to_string(file.size()) + " bytes; its footer alone has " + std::to_string(kFooter));
  const std::string_view footer = file.substr(file.size() - kFooter);
  if (little_endian(footer.substr(kHandles)) != kMagic)
    fail(Code::kDataLoss, "[B4041] the .index file " +
                              belay::foreign_text(file.substr(0, 512), "index of a TensorFlow checkpoint",
                                                  "name the .index file that tf.train.Saver wrote",
                                                  "is damaged: its last 8 bytes are not those of a table; it is cut "
                                                  "off, or no .index file"));
  CodedInputStream in(reinterpret_cast<const std::uint8_t*>(footer.data()), kHandles);
  Block blocks[2];
  std::size_t shortest = 0;  // a number also has longer spellings
  for (Block& b : blocks) {
    std::uint64_t size = 0;
    if (!in.ReadVarint64(&b.begin) || !in.ReadVarint64(&size) || b.begin > file.size() ||
        size > file.size() - b.begin || size + kTrailer > file.size() - b.begin)
      bad_table("its footer (byte " + std::to_string(file.size() - kFooter) + ") names a block outside of it");
    b.end = b.begin + size + kTrailer;
    shortest += CodedOutputStream::VarintSize64(b.begin) + CodedOutputStream::VarintSize64(size);
  }
  if (static_cast<std::size_t>(in.CurrentPosition()) != shortest ||
      footer.substr(shortest, kHandles - shortest).find_first_not_of('\0') != footer.npos)
    bad_table("its footer holds something after the two blocks");
  return {blocks[0], blocks[1]};
}

void check_metaindex(std::string_view file, const Block& block) {
  const std::string_view content = file.substr(block.begin, block.end - block.begin - 4);
  if (masked(crc32c(content.data(), content.size())) != little_endian(file.substr(block.end - 4, 4)))
    bad_table("the checksum of its block at byte " + std::to_string(block.begin) + " is wrong");
}

// Checks that the read blocks, with the metaindex, are the whole file before the footer.
void check_layout(std::string_view file, std::vector<Block> blocks) {
  const auto [metaindex, index] = read_footer(file);
  check_metaindex(file, metaindex);
  blocks.push_back(metaindex);
  std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.begin < b.begin; });
  std::uint64_t covered = 0;
  for (const Block& b : blocks) {
    if (b.begin != covered) bad_table("its blocks do not follow each other at byte " + std::to_string(covered));
    covered = b.end;
  }
  if (covered != file.size() - kFooter)
    bad_table("there is more than its blocks after byte " + std::to_string(covered));
}

leveldb::Options table_options() {
  leveldb::Options options;
  options.block_size = kBlockSize;
  options.compression = leveldb::kNoCompression;
  options.paranoid_checks = true;
  return options;
}

Records records_of(const TableBytes& bytes, std::string_view file) {
  leveldb::Table* opened = nullptr;
  const auto check = [&](const leveldb::Status& status) {
    if (!status.ok()) bad_table(status.ToString() + " (in the block at byte " + std::to_string(bytes.last()) + ")");
  };
  check(leveldb::Table::Open(table_options(), const_cast<TableBytes*>(&bytes), file.size(), &opened));
  const std::unique_ptr<leveldb::Table> table(opened);
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  const std::unique_ptr<leveldb::Iterator> it(table->NewIterator(options));
  Records records;
  for (it->SeekToFirst(); it->Valid(); it->Next()) records.emplace_back(it->key().ToString(), it->value().ToString());
  check(it->status());
  return records;
}

class StringFile final : public leveldb::WritableFile {
 public:
  leveldb::Status Append(const leveldb::Slice& data) override {
    bytes.append(data.data(), data.size());
    return leveldb::Status::OK();
  }
  leveldb::Status Close() override { return leveldb::Status::OK(); }
  leveldb::Status Flush() override { return leveldb::Status::OK(); }
  leveldb::Status Sync() override { return leveldb::Status::OK(); }
  std::string bytes;
};

}  // namespace

Records read_table(std::string_view file) {
  read_footer(file);  // a file that is no table must get this error
  const TableBytes bytes(file);
  try {
    Records records = records_of(bytes, file);
    check_layout(file, bytes.blocks());
    return records;
  } catch (const std::bad_alloc&) {  // by a block's length, before the request got here
    bad_table("a block claims more bytes than there is memory");
  }
}

std::string write_table(const Records& records) {
  StringFile file;
  leveldb::TableBuilder builder(table_options(), &file);
  for (const auto& [key, value] : records) builder.Add(key, value);
  const leveldb::Status status = builder.Finish();
  if (!status.ok()) fail(Code::kInternal, "[B4040] the .index file: " + status.ToString());
  return std::move(file.bytes);
}

}  // namespace tf_bundle
