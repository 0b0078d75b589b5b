// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/saver_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "belay/saver.h"
#include "runtime/platform/files/crc32c.h"
#include "tests/checkpoint/checkpoint_fixture.h"
#include "tests/platform/faulty_file_system.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;

class SaverDirectoryTest : public ::testing::Test {
 protected:
  TempDir dir_;
  FaultyFileSystem files_{posix_file_system()};
  std::unique_ptr<OpenDirectory> directory_ = files_.open_directory(dir_.path());
};

TEST_F(SaverDirectoryTest, SmallWritesAreGatheredAndFilesAreSyncedBeforeTheyClose) {
  SaverDirectory saver = SaverDirectory::for_writing(*directory_);
  const Directory d(files_service(), saver.handle());
  files_.forget_calls();
  File file = d.create("data");
  for (int i = 0; i < 1000; ++i) file.write("ab", 2);
  EXPECT_EQ(file.size(), 2000u);
  file.close();
  EXPECT_THAT(files_.calls(), ElementsAre("create data", "write data", "sync data", "close data"));
  std::string expected;
  for (int i = 0; i < 1000; ++i) expected += "ab";
  EXPECT_EQ(saver.written(), (std::vector<FileEntry>{{"data", 2000, crc32c(expected)}}));
  EXPECT_EQ(read_file(dir_ / "data"), expected);
}

// Pieces that fit the cache: each is written while the checksum's read of it is still there.
TEST_F(SaverDirectoryTest, T_47b_ALargeWriteIsNotCopiedAndPassesThroughTheCacheOnce) {
  SaverDirectory saver = SaverDirectory::for_writing(*directory_);
  const Directory d(files_service(), saver.handle());
  const std::string large(4 << 20, 'x');
  files_.forget_calls();
  File file = d.create("data");
  file.write("head", 4);
  file.write(large.data(), large.size());
  file.close();
  std::vector<std::string> expected{"create data"};
  for (int i = 0; i < 1 + 16; ++i) expected.push_back("write data");  // the head, 16 times 256 KiB
  expected.insert(expected.end(), {"sync data", "close data"});
  EXPECT_EQ(files_.calls(), expected);
  EXPECT_EQ(saver.written()[0].crc32c, crc32c("head" + large));
  EXPECT_EQ(read_file(dir_ / "data"), "head" + large);
}

TEST_F(SaverDirectoryTest, OnlyTheNamedFilesCanBeRead) {
  write_file(dir_ / "a", "content");
  write_file(dir_ / "b", "content");
  SaverDirectory saver = SaverDirectory::for_reading(*directory_, {"a", "gone"});
  const Directory d(files_service(), saver.handle());
  const File file = d.open("a");
  char bytes[4] = {};
  file.read_at(3, bytes, 3);
  EXPECT_STREQ(bytes, "ten");
  EXPECT_EQ(file.size(), 7u);
  EXPECT_EQ(error_of([&] { file.read_at(5, bytes, 3); }), "DATA_LOSS: [B4019] cannot read '" + (dir_ / "a") +
                                                              "': it ends at byte 7, 3 bytes were wanted from byte 5");
  EXPECT_EQ(error_of([&] { d.open("b"); }), "NOT_FOUND: [B4018] the checkpoint has no file \"b\"");
  EXPECT_EQ(error_of([&] { d.open("../x"); }), "NOT_FOUND: [B4018] the checkpoint has no file \"../x\"");
  EXPECT_EQ(error_of([&] { d.open("gone"); }),
            "NOT_FOUND: cannot open '" + (dir_ / "gone") + "': No such file or directory");
  EXPECT_EQ(error_of([&] { d.create("c"); }), "FAILED_PRECONDITION: [B4006] a saver that reads cannot create files");
  EXPECT_EQ(error_of([&] { d.open("a").write("x", 1); }), "FAILED_PRECONDITION: [B4006] 'a' is open for reading");
}

TEST_F(SaverDirectoryTest, T_146_ASizeThatTheFileDoesNotHaveIsRefusedBeforeAByteIsRead) {
  write_file(dir_ / "a", "content");
  SaverDirectory saver = SaverDirectory::for_reading(*directory_, {"a"});
  const Directory d(files_service(), saver.handle());
  const File file = d.open("a");
  char bytes[4] = "old";
  for (const std::uint64_t size : {std::uint64_t{8}, std::uint64_t{1} << 60, ~std::uint64_t{0}})
    EXPECT_EQ(error_of([&] { file.read_at(0, bytes, size); }), "DATA_LOSS: [B4019] cannot read '" + (dir_ / "a") +
                                                                   "': it ends at byte 7, " + std::to_string(size) +
                                                                   " bytes were wanted from byte 0");
  EXPECT_EQ(error_of([&] { file.read_at(~std::uint64_t{0}, bytes, 3); }).substr(0, 9), "DATA_LOSS");
  EXPECT_STREQ(bytes, "old");
}

TEST_F(SaverDirectoryTest, OneForeignFileStandsForTheFirstNameOnly) {
  write_file(dir_ / "pretrained.bin", "content");
  SaverDirectory saver = SaverDirectory::for_reading_one(*directory_, "pretrained.bin");
  const Directory d(files_service(), saver.handle());
  EXPECT_EQ(d.open("model.safetensors").size(), 7u);
  EXPECT_EQ(d.open("model.safetensors").size(), 7u);
  EXPECT_EQ(error_of([&] { d.open("second"); }), "NOT_FOUND: [B4018] the checkpoint has no file \"second\"");
}

TEST_F(SaverDirectoryTest, AForeignFileThatIsNoJsonStandsForNoIndex) {
  write_file(dir_ / "pretrained.bin", "content");
  write_file(dir_ / "index.txt", "{}");
  const auto open_both = [&](const std::string& file) {
    SaverDirectory saver = SaverDirectory::for_reading_one(*directory_, file);
    const Directory d(files_service(), saver.handle());
    const std::string of_index = error_of([&] { d.open("model.safetensors.index.json"); });
    return of_index + error_of([&] { d.open("model.safetensors"); });
  };
  EXPECT_EQ(open_both("pretrained.bin"),
            "NOT_FOUND: [B4018] the checkpoint has no file \"model.safetensors.index.json\"");
  EXPECT_EQ(open_both("index.txt"), "NOT_FOUND: [B4018] the checkpoint has no file \"model.safetensors\"");
}

TEST_F(SaverDirectoryTest, FilesOfOthersBesideTheOneGoByTheSaversNames) {
  write_file(dir_ / "ckpt-9.index", "table");
  write_file(dir_ / "ckpt-9.data-0", "elements");
  write_file(dir_ / "model.data-0", "of another");
  SaverDirectory saver = SaverDirectory::for_reading_one(*directory_, "ckpt-9.index");
  const Directory d(files_service(), saver.handle());
  EXPECT_EQ(d.open("model.index").size(), 5u);
  EXPECT_EQ(d.open("model.data-0").size(), 8u);
  EXPECT_EQ(error_of([&] { d.open("model.data-1"); }),
            "NOT_FOUND: [B4018] the checkpoint has no file \"ckpt-9.data-1\"");
  EXPECT_EQ(error_of([&] { d.open("../x"); }), "NOT_FOUND: [B4018] the checkpoint has no file \"../x\"");
}

TEST_F(SaverDirectoryTest, FilesThatTheOneNamesKeepTheirNames) {
  write_file(dir_ / "bert.safetensors.index.json", "{}");
  write_file(dir_ / "bert-1-of-2.safetensors", "first");
  SaverDirectory saver = SaverDirectory::for_reading_one(*directory_, "bert.safetensors.index.json");
  const Directory d(files_service(), saver.handle());
  // A saver that looks for the single file first.
  EXPECT_EQ(error_of([&] { d.open("model.safetensors"); }),
            "NOT_FOUND: [B4018] the checkpoint has no file \"model.safetensors\"");
  EXPECT_EQ(d.open("model.safetensors.index.json").size(), 2u);
  EXPECT_EQ(d.open("bert-1-of-2.safetensors").size(), 5u);
  EXPECT_EQ(error_of([&] { d.open("bert-2-of-2.safetensors"); }),
            "NOT_FOUND: [B4018] the checkpoint has no file \"bert-2-of-2.safetensors\"");
}

TEST_F(SaverDirectoryTest, TheFirstErrorIsKept) {
  SaverDirectory saver = SaverDirectory::for_writing(*directory_);
  const Directory d(files_service(), saver.handle());
  files_.fail(FileCall::kCreate, 1, Error(Code::kResourceExhausted, "the first"));
  error_of([&] { d.create("a"); });
  error_of([&] { d.create("a/b"); });
  d.create("c").close();
  EXPECT_EQ(error_of([&] { saver.written(); }), "RESOURCE_EXHAUSTED: the first");
}

}  // namespace
}  // namespace belay::runtime
