// SPDX-License-Identifier: Apache-2.0
#include "idx_file.h"

#include <belay/testing/error_of.h>
#include <belay/testing/temporary_folder.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "idx_test_files.h"

namespace idx_input {
namespace {

using belay::testing::error_of;
using belay::testing::TemporaryFolder;
using idx_test::big_endian;
using idx_test::gzipped;
using idx_test::header;
using idx_test::images;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::uint8_t> read_whole(const std::string& path) {
  return read_idx_elements("images", path, read_idx_header("images", path));
}

TEST(IdxFile, ReadsPlainAndCompressedFilesAlike) {
  const TemporaryFolder folder;
  const std::string bytes = images(3, 2, 2);
  for (const std::string& path : {folder.write("plain", bytes), folder.write("packed.gz", gzipped(bytes))}) {
    const IdxHeader h = read_idx_header("images", path);
    EXPECT_EQ(h.type, ElementType::kUInt8);
    EXPECT_THAT(h.dims, ElementsAre(3, 2, 2));
    EXPECT_EQ(h.bytes_per_record(), 4u);
    EXPECT_THAT(read_idx_elements("images", path, h), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  }
}

TEST(IdxFile, KnowsEveryElementType) {
  const auto bits_of = [](auto value, auto bits) {
    std::memcpy(&bits, &value, sizeof(bits));
    return static_cast<std::uint64_t>(bits);
  };
  struct Case {
    int type;
    std::string bytes;
    double value;
  };
  const Case cases[] = {
      {0x08, big_endian(200, 1), 200},
      {0x09, big_endian(200, 1), -56},
      {0x0b, big_endian(0xfffe, 2), -2},
      {0x0c, big_endian(0x80000000u, 4), -2147483648.0},
      {0x0d, big_endian(bits_of(1.5f, std::uint32_t{}), 4), 1.5},
      {0x0e, big_endian(bits_of(-0.1, std::uint64_t{}), 8), -0.1},
  };
  const TemporaryFolder folder;
  for (const Case& c : cases) {
    const std::string path = folder.write("one", header(c.type, {1}) + c.bytes);
    const IdxHeader h = read_idx_header("images", path);
    EXPECT_EQ(element_value(h.type, read_whole(path).data()), c.value) << c.type;
  }
}

TEST(IdxFile, BadHeadersAreNamedWhenTheFileIsOpened) {
  const TemporaryFolder folder;
  const std::string path = folder.file("x");
  struct Case {
    std::string bytes;
    const char* error;  // @ stands for option and path
  };
  const Case cases[] = {
      {"", "INVALID_ARGUMENT: [B3021] @is empty; name an IDX file"},
      {"\x89PNG\r\n\x1a\n",
       "INVALID_ARGUMENT: [B3022] @is a PNG picture, no IDX file: give the file as its source has it"},
      {std::string("\0\0", 2),
       "INVALID_ARGUMENT: [B3022] @is no IDX file: it begins with 0x0000, not with 0x0000, an element type (08, 09, 0b "
       "to 0e) "
       "and the number of dimensions"},
      {header(0x0a, {1}),
       "INVALID_ARGUMENT: [B3022] @is no IDX file: it begins with 0x00000a01, not with 0x0000, an element type (08, "
       "09, 0b to "
       "0e) and the number of dimensions"},
      {header(8, {}),
       "INVALID_ARGUMENT: [B3022] @is no IDX file: it begins with 0x00000800, not with 0x0000, an element type (08, "
       "09, 0b to "
       "0e) and the number of dimensions"},
      {header(8, {1, 1, 1, 1, 1, 1, 1, 1, 1}), "INVALID_ARGUMENT: [B3024] @has 9 dimensions; at most 8 can be read"},
      {header(8, {3, 2}).substr(0, 10), "DATA_LOSS: [B3023] @ends inside its header; fetch it again"},
      {header(8, {0, 28, 28}), "FAILED_PRECONDITION: [B3021] @holds no records; give a file that has some"},
      {header(8, {5, 0, 28}), "INVALID_ARGUMENT: [B3024] @has records of no elements: [5, 0, 28]"},
      {header(8, {~0u, ~0u, ~0u}),
       "INVALID_ARGUMENT: [B3023] @cannot hold [4294967295, 4294967295, 4294967295] elements, which its header "
       "declares; "
       "it is damaged or no IDX file"},
      {header(0x0e, {1u << 31, 1u << 29}),
       "INVALID_ARGUMENT: [B3023] @cannot hold [2147483648, 536870912] elements, which its header declares; it is "
       "damaged or no IDX file"},
      {header(8, {1u << 31, 1u << 31}),
       "DATA_LOSS: [B3023] @has 12 bytes; [2147483648, 2147483648] elements of uint8 need 4611686018427387916; fetch "
       "it again"},
      {images(2, 2, 2).substr(0, 23),
       "DATA_LOSS: [B3023] @has 23 bytes; [2, 2, 2] elements of uint8 need 24; fetch it again"},
      {images(2, 2, 2) + "x", "DATA_LOSS: [B3023] @has 25 bytes; [2, 2, 2] elements of uint8 need 24; fetch it again"},
  };
  for (const Case& c : cases) {
    folder.write("x", c.bytes);
    std::string expected = c.error;
    expected.replace(expected.find('@'), 1, "images: '" + path + "' ");
    EXPECT_EQ(error_of([&] { read_idx_header("images", path); }), expected);
  }
}

TEST(IdxFile, ACompressedHeaderCannotPromiseMoreThanItsFileCanHold) {
  const TemporaryFolder folder;
  const std::string packed = gzipped(header(8, {1u << 31, 1u << 31}));
  const std::string path = folder.write("bomb.gz", packed);
  EXPECT_EQ(error_of([&] { read_idx_header("images", path); }),
            "DATA_LOSS: [B3023] images: '" + path + "' has " + std::to_string(packed.size()) +
                " compressed bytes; [2147483648, 2147483648] elements of uint8 need 4611686018427387916; "
                "fetch it again");
}

TEST(IdxFile, MissingFilesAreNamedWithTheNearestOne) {
  const TemporaryFolder folder;
  folder.write("train-images.gz", "");
  EXPECT_EQ(error_of([&] { read_idx_header("images", folder.file("train-images")); }),
            "NOT_FOUND: [B3046] images: there is no file '" + folder.file("train-images") +
                "' (did you mean \"train-images.gz\"?)");
  EXPECT_EQ(error_of([&] { read_idx_header("images", folder.file("none/x")); }),
            "NOT_FOUND: [B3046] images: there is no file '" + folder.file("none/x") +
                "': the folder cannot be opened: No such file or directory");
  EXPECT_EQ(error_of([&] { read_idx_header("labels", folder.path()); }),
            "INVALID_ARGUMENT: [B3047] labels: '" + folder.path() + "' is a folder; name a file in it");
}

std::string noise_images() {
  std::mt19937 random(7);
  std::string bytes = header(8, {10, 6, 5});
  for (int i = 0; i < 300; ++i) bytes.push_back(static_cast<char>(random()));
  return bytes;
}

TEST(IdxFile, ACompressedFileCutAnywhereIsDataLoss) {
  const TemporaryFolder folder;
  const std::string packed = gzipped(noise_images());
  for (std::size_t size = 1; size < packed.size(); ++size) {
    const std::string path = folder.write("cut.gz", packed.substr(0, size));
    // A single byte does not show that the file was compressed.
    const std::string kind = size < 2 ? "INVALID_ARGUMENT: [B3022] " : "DATA_LOSS: [B3023] ";
    EXPECT_THAT(error_of([&] { read_whole(path); }), StartsWith(kind + "images: '" + path + "' ")) << size;
  }
}

TEST(IdxFile, ACutFileTellsTheRecordWhereItEnds) {
  const TemporaryFolder folder;
  const std::string bytes = noise_images();
  const std::string path = folder.write("cut.gz", gzipped(bytes));
  const IdxHeader h = read_idx_header("images", path);
  folder.write("cut.gz", gzipped(bytes.substr(0, 16 + 237)));
  EXPECT_EQ(error_of([&] { read_idx_elements("images", path, h); }),
            "DATA_LOSS: [B3023] images: '" + path +
                "' ends in record 7 of 10, after 237 of 300 bytes: it was cut short; fetch it again");
}

TEST(IdxFile, NoFlippedBitOfACompressedFileChangesTheElements) {
  const TemporaryFolder folder;
  const std::string packed = gzipped(noise_images());
  const std::vector<std::uint8_t> whole = read_whole(folder.write("whole.gz", packed));
  std::size_t detected = 0;
  for (std::size_t i = 10; i < packed.size(); ++i) {
    std::string flipped = packed;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    const std::string path = folder.write("flipped.gz", flipped);
    std::vector<std::uint8_t> read;
    const std::string error = error_of([&] { read = read_whole(path); });
    // Some bits are padding and may have any value.
    if (error.empty()) {
      EXPECT_EQ(read, whole) << i;
    } else {
      EXPECT_THAT(error, HasSubstr("images: '" + path + "' ")) << i;
      ++detected;
    }
  }
  EXPECT_GE(detected, packed.size() - 20);
}

TEST(IdxFile, AFailedChecksumIsToldWithItsPlace) {
  const TemporaryFolder folder;
  std::string packed = gzipped(noise_images());
  packed[packed.size() - 8] = static_cast<char>(packed[packed.size() - 8] ^ 1);
  const std::string path = folder.write("sum.gz", packed);
  EXPECT_EQ(error_of([&] { read_whole(path); }),
            "DATA_LOSS: [B3023] images: '" + path +
                "' is damaged after byte 316 of its content: incorrect data check; fetch it again");
}

TEST(IdxFile, MoreElementsThanPromisedIsDataLoss) {
  const TemporaryFolder folder;
  const std::string path = folder.write("long.gz", gzipped(images(2, 2, 2) + "x"));
  EXPECT_EQ(error_of([&] { read_whole(path); }),
            "DATA_LOSS: [B3023] images: '" + path +
                "' continues after the elements of its header; it is damaged, so fetch it again");
}

TEST(IdxFile, T_62c_BytesBehindTheCompressedDataAreRefused) {
  const TemporaryFolder folder;
  const std::string packed = gzipped(images(2, 2, 2));
  for (const std::string& more : {std::string("x"), std::string(1, '\0'), std::string("\x1f\x8b"), packed}) {
    const std::string path = folder.write("more.gz", packed + more);
    // A second compressed file is unpacked, and its bytes are more elements than the header has.
    EXPECT_THAT(error_of([&] { read_whole(path); }), StartsWith("DATA_LOSS: [B3023] images: '" + path + "' ")) << more;
  }
}

TEST(IdxFile, T_62d_ElementsThatNoMemoryHoldsAreAnErrorWithTheFilesName) {
  const TemporaryFolder folder;
  const std::string path = folder.write("huge", header(8, {1u << 20, 1u << 20}));
  if (truncate(path.c_str(), (std::int64_t{1} << 40) + 12) != 0)
    GTEST_SKIP() << "no sparse file of a terabyte can be made in " << folder.path();
  const IdxHeader h = read_idx_header("images", path);
  EXPECT_EQ(
      error_of([&] { read_idx_elements("images", path, h); }),
      "RESOURCE_EXHAUSTED: [B3049] images: '" + path +
          "' does not fit into the memory: it needs 1099511627776 bytes or more; give a smaller file, or several");
}

TEST(IdxFile, AFileThatWasReplacedIsDataLoss) {
  const TemporaryFolder folder;
  const std::string path = folder.write("x", images(2, 2, 2));
  const IdxHeader h = read_idx_header("images", path);
  folder.write("x", images(3, 2, 2));
  EXPECT_EQ(error_of([&] { read_idx_elements("images", path, h); }),
            "DATA_LOSS: [B3028] images: '" + path + "' was replaced by another one since the run started");
}

TEST(IdxFile, RandomBytesNeverCrash) {
  const TemporaryFolder folder;
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    std::string bytes = round % 2 == 0 ? std::string{0, 0, static_cast<char>(8 + random() % 7)} : std::string();
    const std::size_t size = random() % 64;
    while (bytes.size() < size) bytes.push_back(static_cast<char>(random() % (round % 3 == 0 ? 4 : 256)));
    const std::string path = folder.write("random", bytes);
    const std::string error = error_of([&] { read_whole(path); });
    EXPECT_TRUE(error.empty() || error.find(" images: '" + path + "' ") != std::string::npos) << error;
  }
}

}  // namespace
}  // namespace idx_input
