// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/run/run_directory.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "runtime/checkpoint/directory/run_lock.h"
#include "tests/monitored/monitored_fixture.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime::testing {
namespace {

class RunDirectories : public MonitoredTest {
 protected:
  RunDirectory open() { return RunDirectory::open(posix_file_system(), path, clock, *log); }

  TempDir temp;
  const std::string path = temp / "runs/one";
};

TEST_F(RunDirectories, AreMadeWithTheirParents) {
  RunDirectory run = open();
  EXPECT_EQ(run.path(), path);
  EXPECT_EQ(run.directory().path(), path);
  EXPECT_TRUE(std::filesystem::is_directory(path));
}

TEST_F(RunDirectories, BelongToOneRunAtATime) {
  {
    RunDirectory run = open();
    const RunDirectory moved = std::move(run);
    EXPECT_THROW(open(), RunInUse);
  }
  EXPECT_NO_THROW(open());
}

TEST_F(RunDirectories, ThatEverybodyMayWriteAreRefused) {
  std::filesystem::create_directories(path);
  ASSERT_EQ(chmod(path.c_str(), 0777), 0);
  EXPECT_EQ(error_of([&] { open(); }), "PERMISSION_DENIED: [B5020] the run directory '" + path +
                                           "' may be written by everybody; run: chmod o-w '" + path + "'");
  EXPECT_FALSE(std::filesystem::exists(path + "/lock"));
  ASSERT_EQ(chmod(path.c_str(), 01777), 0);  // sticky: no user removes another's files
  EXPECT_NO_THROW(open());
}

TEST_F(RunDirectories, T_167_AreMadeSoThatTheyAreAcceptedWhateverTheUmask) {
  const mode_t before = ::umask(0);
  const std::string error = error_of([&] { open(); });
  ::umask(before);
  EXPECT_EQ(error, "no error");
  EXPECT_EQ(posix_file_system().status(path).mode & 0777u, 0775u);
}

TEST_F(RunDirectories, T_63i_OfTheSystemAreRefusedWhoeverAsks) {
  std::filesystem::create_directory_symlink("/etc", temp / "link");
  const std::string reason = " belongs to the system; a run takes a directory that holds nothing else";
  for (const std::string& system : {std::string("/"), std::string("/etc"), std::string("/etc/belay/run"),
                                    std::string("/usr/lib"), std::string("/var"), std::string(temp / "link")})
    EXPECT_EQ(error_of([&] { RunDirectory::open(posix_file_system(), system, clock, *log); }),
              "PERMISSION_DENIED: [B5020] '" + system + "'" + reason);
  EXPECT_FALSE(std::filesystem::exists("/etc/lock"));
}

TEST_F(RunDirectories, AreClearedOfAnUnfinishedCheckpoint) {
  const std::string unfinished = "model.ckpt-7.tmp-00112233445566ff";
  std::filesystem::create_directories(path + "/" + unfinished);
  std::ofstream(path + "/notes.txt") << "mine";
  const RunDirectory run = open();
  EXPECT_FALSE(std::filesystem::exists(path + "/" + unfinished));
  EXPECT_TRUE(std::filesystem::exists(path + "/notes.txt"));
  EXPECT_TRUE(logged("removed what an interrupted save left in '" + path + "': " + unfinished));
}

TEST_F(RunDirectories, SAVER_12_ThatAreFilesAreAnError) {
  std::ofstream(temp / "runs") << "a file";
  EXPECT_THAT(error_of([&] { open(); }), ::testing::HasSubstr("Not a directory"));
}

}  // namespace
}  // namespace belay::runtime::testing
