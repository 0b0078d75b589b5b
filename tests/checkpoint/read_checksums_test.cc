// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/format/read_checksums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "runtime/platform/files/crc32c.h"

namespace belay::runtime {
namespace {

class ReadingTwoFiles : public ::testing::Test {
 protected:
  ReadingTwoFiles() {
    std::mt19937 random(3);
    for (char& c : file_) c = static_cast<char>(random());
  }
  // As a saver does it: bytes [begin, end) of the file go to memory_ + at.
  void read(std::size_t begin, std::size_t end, std::size_t at, std::size_t file = 0) {
    std::copy(file_.begin() + static_cast<std::ptrdiff_t>(begin), file_.begin() + static_cast<std::ptrdiff_t>(end),
              memory_.begin() + static_cast<std::ptrdiff_t>(at));
    checksums_.add(file, begin, memory_.data() + at, end - begin, crc32c(file_.data() + begin, end - begin));
  }
  std::optional<std::uint32_t> of_file(std::size_t file = 0) const { return checksums_.of_file(file, file_.size()); }
  std::optional<std::uint32_t> of_memory(std::size_t begin, std::size_t end) const {
    return checksums_.of_memory(memory_.data() + begin, end - begin);
  }
  std::uint32_t in_memory(std::size_t begin, std::size_t end) const {
    return crc32c(memory_.data() + begin, end - begin);
  }

  std::string file_ = std::string(1000, '\0'), memory_ = std::string(3000, '\0');
  ReadChecksums checksums_;
};

TEST(JoinedCrc, IsThatOfBothPiecesWhereverTheyPart) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (std::size_t at = 0; at <= text.size(); ++at)
    EXPECT_EQ(joined_crc32c(crc32c(text.data(), at), crc32c(text.data() + at, text.size() - at), text.size() - at),
              crc32c(text));
  const std::string zeros(std::size_t{3} << 20, '\0');
  EXPECT_EQ(joined_crc32c(crc32c(text), crc32c(zeros), zeros.size()), crc32c(text + zeros));
}

TEST_F(ReadingTwoFiles, AWholeFileIsKnownInWhateverOrderItsPiecesCame) {
  read(600, 1000, 0), read(0, 8, 2000), read(8, 100, 2500), read(100, 600, 1000);
  EXPECT_EQ(of_file(), crc32c(file_));
  EXPECT_EQ(of_file(1), std::nullopt) << "nothing of it was read";
  EXPECT_EQ(checksums_.of_file(0, 1001), std::nullopt) << "it ends before that";
}

TEST_F(ReadingTwoFiles, APieceThatCameTwiceCountsOnce) {
  read(0, 100, 2000), read(0, 500, 0), read(20, 50, 2200), read(500, 1000, 500);
  EXPECT_EQ(of_file(), crc32c(file_));
}

TEST_F(ReadingTwoFiles, NothingIsKnownOfAFileWithAHoleOrAnOverlap) {
  read(0, 500, 0), read(501, 1000, 501);
  EXPECT_EQ(of_file(), std::nullopt);
  read(400, 502, 2000);
  EXPECT_EQ(of_file(), std::nullopt);
}

TEST_F(ReadingTwoFiles, MemoryIsKnownByThePiecesThatFilledIt) {
  read(0, 10, 2000);     // a header
  read(10, 400, 0);      // a tensor
  read(700, 1000, 700);  // another one, its end first
  read(400, 700, 400, 1);
  EXPECT_EQ(of_memory(0, 390), in_memory(0, 390));
  EXPECT_EQ(of_memory(400, 1000), in_memory(400, 1000));
  EXPECT_EQ(of_memory(0, 0), 0u);
}

TEST_F(ReadingTwoFiles, MemoryThatAReadFilledInPartOrTwiceIsNot) {
  read(0, 400, 0);
  EXPECT_EQ(of_memory(0, 399), std::nullopt);
  EXPECT_EQ(of_memory(0, 401), std::nullopt);
  EXPECT_EQ(of_memory(1000, 1001), std::nullopt);
  read(500, 600, 100, 1);
  EXPECT_EQ(of_memory(0, 400), std::nullopt) << "the second file's bytes are in the midst of it";
}

TEST_F(ReadingTwoFiles, OfVeryManyPiecesNothingIsKnown) {
  for (int i = 0; i < 8193; ++i) read(0, 1, static_cast<std::size_t>(i % 2) * 10);
  read(0, 1000, 1000);
  EXPECT_EQ(of_file(), std::nullopt);
  EXPECT_EQ(of_memory(1000, 2000), std::nullopt);
}

TEST_F(ReadingTwoFiles, PiecesThatGoOnAreOne) {
  for (std::size_t i = 0; i < 1000; ++i) read(i, i + 1, i);
  for (int i = 0; i < 8000; ++i) read(0, 1, static_cast<std::size_t>(2000 + i % 2 * 10));
  EXPECT_EQ(of_file(), crc32c(file_)) << "one piece, and 8,000 others";
  EXPECT_EQ(of_memory(0, 1000), in_memory(0, 1000));
}

}  // namespace
}  // namespace belay::runtime
