// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/file_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/loader/plugin_files.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FilePolicyTest : public ::testing::Test {
 protected:
  FilePolicyTest() {
    std::filesystem::create_directories(folder_.file("a/b"));
    file_ = folder_.write("a/b/x.so", "bytes");
    mode("a", 0755);
    mode("a/b", 0755);
    mode("a/b/x.so", 0644);
  }
  void mode(const std::string& name, mode_t mode) { ASSERT_EQ(::chmod(folder_.file(name).c_str(), mode), 0); }
  std::string check(const std::string& path) {
    warnings_.clear();
    const std::string error = load_error_of([&] { policy_.check_library(path, warnings_); }, folder_.path());
    for (std::string& w : warnings_) w = replaced(w, folder_.path(), "DIR");
    return error;
  }

  belay::testing::TemporaryFolder folder_;
  std::string file_;
  FilePolicy policy_;
  std::vector<std::string> warnings_;
};

TEST_F(FilePolicyTest, AFileOfOnesOwnIsFine) {
  EXPECT_EQ(check(file_), "");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(FilePolicyTest, AWorldWritableFileIsRefused) {
  mode("a/b/x.so", 0666);
  EXPECT_EQ(check(file_),
            "[B2004] insecure: 'DIR/a/b/x.so' can be written by everybody\n  help: chmod o-w 'DIR/a/b/x.so'");
}

TEST_F(FilePolicyTest, AWorldWritableDirectoryIsRefused) {
  mode("a/b", 0777);
  EXPECT_EQ(
      check(file_),
      "[B2004] insecure: 'DIR/a/b/x.so' lies in 'DIR/a/b', which everybody can write\n  help: chmod o-w 'DIR/a/b'");
}

TEST_F(FilePolicyTest, AWorldWritableParentIsRefused) {
  mode("a", 0777);
  EXPECT_EQ(check(file_),
            "[B2004] insecure: 'DIR/a/b/x.so' lies in 'DIR/a', which everybody can write\n  help: chmod o-w 'DIR/a'");
}

TEST_F(FilePolicyTest, AStickyBitMakesItAWarning) {
  mode("a/b", 01777);
  EXPECT_EQ(check(file_), "");
  EXPECT_THAT(warnings_,
              ElementsAre("plugin directory 'DIR/a/b' can be written by everybody (its sticky bit keeps them "
                          "from replacing plugins)"));
}

TEST_F(FilePolicyTest, GroupWritableIsAWarningOnce) {
  mode("a/b", 0775);
  mode("a/b/x.so", 0664);
  const std::string group = std::to_string(::getegid());
  EXPECT_EQ(check(file_), "");
  EXPECT_THAT(warnings_, ElementsAre("plugin directory 'DIR/a/b' can be written by group " + group +
                                     ", whose members can replace plugins"));
  EXPECT_EQ(check(file_), "");
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(FilePolicyTest, AGroupWritableFileIsTold) {
  mode("a/b/x.so", 0664);
  EXPECT_EQ(check(file_), "");
  EXPECT_THAT(warnings_, ElementsAre("plugin 'DIR/a/b/x.so' can be written by group " + std::to_string(::getegid()) +
                                     ", whose members can replace plugins"));
}

TEST_F(FilePolicyTest, AnotherOwnerIsAWarning) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(::chown(file_.c_str(), 4242, 4242), 0);
  EXPECT_EQ(check(file_), "");
  EXPECT_THAT(warnings_, ElementsAre("plugin 'DIR/a/b/x.so' belongs to user 4242, who can replace plugins"));
}

TEST_F(FilePolicyTest, RootsFilesAreFineForEverybody) {
  if (::geteuid() != 0) GTEST_SKIP() << "the files of this test do not belong to root";
  FilePolicy other(4242);
  std::vector<std::string> warnings;
  other.check_library(file_, warnings);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(FilePolicyTest, ALinkIsJudgedByWhereItLiesAndWhereItLeads) {
  std::filesystem::create_directory(folder_.file("safe"));
  std::filesystem::create_symlink(file_, folder_.file("safe/x.so"));
  mode("a", 0777);
  EXPECT_EQ(check(folder_.file("safe/x.so")),
            "[B2004] insecure: 'DIR/safe/x.so' lies in 'DIR/a', which everybody can write\n  help: chmod o-w 'DIR/a'");
  mode("a", 0755);
  mode("safe", 0777);
  policy_ = FilePolicy();
  EXPECT_EQ(
      check(folder_.file("safe/x.so")),
      "[B2004] insecure: 'DIR/safe/x.so' lies in 'DIR/safe', which everybody can write\n  help: chmod o-w 'DIR/safe'");
}

TEST_F(FilePolicyTest, ADirectoryIsRefusedByItsOwnName) {
  mode("a/b", 0777);
  EXPECT_EQ(load_error_of([&] { policy_.check_directory(folder_.file("a/b"), "", warnings_); }, folder_.path()),
            "[B2004] insecure: 'DIR/a/b' can be written by everybody\n  help: chmod o-w 'DIR/a/b'");
}

}  // namespace
}  // namespace belay::runtime
