// SPDX-License-Identifier: Apache-2.0
#include "belay/gzip_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <atomic>

#include "belay/testing/error_of.h"
#include "belay/testing/temporary_folder.h"
#include "plugins/inputs/gzip_test.h"

namespace {

using belay::GzipFile;
using belay::testing::error_of;
using belay::testing::TemporaryFolder;
using input_test::gzipped;
using ::testing::StartsWith;

std::atomic<int> interrupted{0};      // so many of the next reads fail with EINTR
std::atomic<bool> one_by_one{false};  // as a file system may give the bytes

}  // namespace

// In place of the C library's, for this program.
extern "C" ssize_t read(int fd, void* bytes, std::size_t size) {
  if (interrupted > 0) {
    --interrupted;
    errno = EINTR;
    return -1;
  }
  return syscall(SYS_read, fd, bytes, one_by_one && size > 1 ? std::size_t{1} : size);
}

namespace {

std::string content(const std::string& path, std::size_t part = 1000) {
  GzipFile file("path", path);
  std::string all, buffer(part, '\0');
  while (const std::size_t got = file.read(buffer.data(), part)) all.append(buffer, 0, got);
  EXPECT_EQ(file.position(), all.size());
  return all;
}

class GzipFileTest : public ::testing::Test {
 protected:
  GzipFileTest() {
    for (int i = 0; i < 50'000; ++i) text_ += std::to_string(i * 7919) + ' ';
  }
  ~GzipFileTest() override { one_by_one = false; }

  TemporaryFolder folder_;
  std::string text_;
};

TEST_F(GzipFileTest, ReadsPlainAndCompressedFilesAlike) {
  for (const std::string& text : {text_, std::string(), std::string("x"), std::string("\x1f")}) {
    EXPECT_EQ(content(folder_.write("plain", text)), text);
    EXPECT_EQ(content(folder_.write("packed", gzipped(text))), text);
    EXPECT_EQ(content(folder_.write("packed", gzipped(text)), 1'000'000), text);
  }
  EXPECT_FALSE(GzipFile("path", folder_.file("plain")).compressed());
  EXPECT_TRUE(GzipFile("path", folder_.file("packed")).compressed());
}

TEST_F(GzipFileTest, SeveralOneBehindTheOtherAreOneContent) {
  EXPECT_EQ(content(folder_.write("x", gzipped(text_) + gzipped("") + gzipped("more"))), text_ + "more");
}

TEST_F(GzipFileTest, BytesThatComeOneByOneAreEnough) {
  one_by_one = true;
  EXPECT_EQ(content(folder_.write("x", gzipped("some text"))), "some text");
  EXPECT_EQ(content(folder_.write("x", "some text")), "some text");
}

TEST_F(GzipFileTest, T_62h_AnInterruptedReadIsTriedAgain) {
  for (const std::string& bytes : {text_, gzipped(text_)}) {
    const std::string path = folder_.write("x", bytes);
    GzipFile file("path", path);
    std::string all(text_.size(), '\0');
    interrupted = 3;
    EXPECT_EQ(file.read(all.data(), all.size()), all.size());
    EXPECT_EQ(interrupted, 0);
    EXPECT_EQ(all, text_);
  }
}

TEST_F(GzipFileTest, T_62c_AnythingElseBehindItIsDataLoss) {
  for (const std::string& more : {std::string("x"), std::string(512, '\0'), std::string("\x1f\x8b\x08")}) {
    const std::string path = folder_.write("x", gzipped("some text") + more);
    EXPECT_THAT(error_of([&] { content(path); }),
                StartsWith("DATA_LOSS: [B3023] path: '" + path + "' is damaged after byte 9 of its content: "));
  }
  const std::string path = folder_.write("x", gzipped("some text") + "xyz");
  EXPECT_EQ(error_of([&] { content(path); }),
            "DATA_LOSS: [B3023] path: '" + path +
                "' is damaged after byte 9 of its content: other data follows the compressed data; fetch it again");
}

TEST_F(GzipFileTest, ACutOrDamagedOneSaysWhere) {
  const std::string packed = gzipped(text_);
  const std::string path = folder_.write("x", packed.substr(0, packed.size() - 1));
  EXPECT_EQ(error_of([&] { content(path); }), "DATA_LOSS: [B3023] path: '" + path + "' is damaged after byte " +
                                                  std::to_string(text_.size()) +
                                                  " of its content: it was cut short; fetch it again");
  for (std::size_t size = 2; size < 100; ++size)
    EXPECT_THAT(error_of([&] { content(folder_.write("x", packed.substr(0, size))); }), StartsWith("DATA_LOSS"))
        << size;
}

}  // namespace
