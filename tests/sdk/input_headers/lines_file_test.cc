// SPDX-License-Identifier: Apache-2.0
#include "belay/lines_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "belay/output_file.h"
#include "belay/testing/fake_host.h"
#include "belay/testing/temporary_folder.h"

namespace belay {
namespace {

namespace fs = std::filesystem;

class LinesFileTest : public ::testing::Test {
 protected:
  std::string text(const std::string& name = "lines") const {
    std::ifstream file(folder_.file(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::unique_ptr<LinesFile> lines(const std::string& header = "") {
    return std::make_unique<LinesFile>(host_, folder_.file("lines"), header);
  }

  const testing::TemporaryFolder folder_;
  testing::FakeHost fake_;
  const Host host_{fake_.api(), fake_.raw()};
};

// No file grows over a few bytes while it lives.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit small = before_;
    small.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_{};
  void (*signal_)(int);
};

TEST_F(LinesFileTest, T_171_TellsTheHostOfEachWaitForADisk) {
  {
    const auto file = lines("head");
    EXPECT_TRUE(file->flush());
    file->add("first");
    EXPECT_EQ(fake_.disk_calls, 0) << "nothing was written yet";
    EXPECT_TRUE(file->flush());
    const int flushed = fake_.disk_calls;
    EXPECT_GT(flushed, 0);
    EXPECT_TRUE(file->sync());
    EXPECT_GT(fake_.disk_calls, flushed);
  }
  const int written = fake_.disk_calls;
  bool warned = false;
  replace_or_warn(host_, folder_.file("other"), "content", warned);
  EXPECT_EQ(text("other"), "content");
  EXPECT_EQ(fake_.disk_calls, written + 1);
  EXPECT_EQ(fake_.disk_calls_under_way, 0);
}

TEST_F(LinesFileTest, T_161_WhatCannotBeWrittenIsOneWarningAndIsWrittenLater) {
  const auto file = lines("head");
  {
    const SmallFiles small(12);
    for (const char* line : {"first", "second", "third"}) {
      file->add(line);
      file->flush();
    }
    EXPECT_EQ(text(), "head\nfirst\n") << "half a line is in the file";
  }
  file->add("fourth");
  EXPECT_TRUE(file->flush());
  EXPECT_EQ(text(), "head\nfirst\nsecond\nthird\nfourth\n");
  ASSERT_EQ(fake_.logged().size(), 1u);
  EXPECT_EQ(fake_.logged()[0],
            "warning: '" + folder_.file("lines") +
                "' cannot be written: File too large; the run continues and tries again, and some lines may be missing "
                "in the file");
}

TEST_F(LinesFileTest, T_161_AFileThatCannotBeOpenedIsOpenedLater) {
  const std::string later = folder_.file("later");
  LinesFile file(host_, later + "/lines");
  file.add("first");
  EXPECT_FALSE(file.flush());
  EXPECT_FALSE(file.flush());
  fs::create_directory(later);
  EXPECT_TRUE(file.sync());
  EXPECT_EQ(text("later/lines"), "first\n");
  EXPECT_EQ(fake_.logged().size(), 1u);
}

TEST_F(LinesFileTest, T_169_APipeInItsPlaceIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo(folder_.file("lines").c_str(), 0600), 0);
  const auto file = lines();
  for (int i = 0; i < 3; ++i) {
    file->add("x");
    EXPECT_FALSE(file->flush());
  }
  ASSERT_EQ(fake_.logged().size(), 1u);
  EXPECT_NE(fake_.logged()[0].find("it is no regular file"), std::string::npos);
}

TEST_F(LinesFileTest, T_169_AFileThatWasRotatedAwayIsOpenedAnew) {
  const auto file = lines("head");
  for (int i = 0; i < 3; ++i) {
    file->add("line " + std::to_string(i));
    file->flush();
    fs::rename(folder_.file("lines"), folder_.file("lines." + std::to_string(i)));
  }
  for (const char* i : {"0", "1", "2"})
    EXPECT_EQ(text(std::string("lines.") + i), std::string("head\nline ") + i + "\n");
  EXPECT_EQ(fake_.logged().size(), 1u);
}

TEST_F(LinesFileTest, T_169_ADirectoryThatIsMovedTakesItsFileWithIt) {
  fs::create_directory(folder_.file("run"));
  LinesFile file(host_, folder_.file("run/lines"));
  file.add("first");
  file.flush();
  fs::rename(folder_.file("run"), folder_.file("moved"));
  file.add("second");
  EXPECT_TRUE(file.flush());
  EXPECT_EQ(text("moved/lines"), "first\nsecond\n");
  EXPECT_TRUE(fake_.logged().empty());
}

TEST_F(LinesFileTest, ALineThatACrashHasCutIsEnded) {
  folder_.write("lines", "whole\nha");
  const auto file = lines("head");
  file->add("next");
  file->flush();
  EXPECT_EQ(text(), "whole\nha\nnext\n");
}

}  // namespace
}  // namespace belay
