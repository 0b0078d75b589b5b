// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/plugins/doctor_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "belay/testing/temporary_folder.h"
#include "tests/loader/sample_file.h"

namespace belay::runtime {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class DoctorTest : public ::testing::Test {
 protected:
  int run(const std::string& directory) {
    SearchPath path;
    path.directories.push_back({folder_.path(), "a test"});
    FilePolicy policy;
    std::ostringstream out;
    const int status = doctor_command(directory, "belay 1.2.3", PluginSearch(path, policy, CpuFeatures()), out);
    said_ = out.str();
    return status;
  }

  belay::testing::TemporaryFolder folder_;
  std::string said_;
};

TEST_F(DoctorTest, NamesTheMachineTheDiskAndThePlugins) {
  folder_.write("sample.so", bytes_of(sample_file()));
  EXPECT_EQ(run(folder_.path()), 0);
  EXPECT_THAT(said_, HasSubstr("belay "));
  EXPECT_THAT(said_, HasSubstr("  belay 1.2.3\n"));
  for (const char* what : {"processor ", "threads ", "memory ", "limits ", "clock ", "disk ", "plugins "})
    EXPECT_THAT(said_, HasSubstr(std::string("\n") + what)) << what;
  EXPECT_THAT(said_, MatchesRegex("(.*\n)*disk +/.*: .*, .* free, a sync takes [0-9.e-]+ ms\n(.*\n)*"));
  EXPECT_THAT(said_, HasSubstr(folder_.path() + " (a test): 5\n"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1) << "nothing is left behind";
}

TEST_F(DoctorTest, NamesTheLaunchersThatAreInPath) {
  const char* path = std::getenv("PATH");
  const std::string before = path == nullptr ? "" : path;
  folder_.write("srun", "");
  std::filesystem::permissions(folder_.path() + "/srun", std::filesystem::perms::owner_all);
  folder_.write("torchrun", "no program");
  ::setenv("PATH", ("/none:" + folder_.path()).c_str(), 1);
  run(folder_.path());
  EXPECT_THAT(said_, MatchesRegex("(.*\n)*launchers +" + folder_.path() + "/srun\n(.*\n)*"));
  ::setenv("PATH", "/none", 1);
  run(folder_.path());
  EXPECT_THAT(said_, HasSubstr("none in PATH; several processes can be started by hand\n"));
  ::setenv("PATH", before.c_str(), 1);
}

TEST_F(DoctorTest, WhatIsOddComesAsWarnings) {
  EXPECT_EQ(run(folder_.path()), 0);
  EXPECT_THAT(said_, HasSubstr("\nwarning: there are no plugins in " + folder_.path() + ": set BELAY_PLUGIN_PATH\n"));
  EXPECT_THAT(said_, Not(HasSubstr("nothing is odd")));
}

TEST_F(DoctorTest, ARefusedPluginIsAWarningWithItsCode) {
  folder_.write("x.so", "no library");
  EXPECT_EQ(run(folder_.path()), 0);
  EXPECT_THAT(said_, HasSubstr("\nwarning[B2005]: not_elf: '" + folder_.path() + "/x.so' "));
  EXPECT_THAT(said_, Not(HasSubstr("[B2005] ")));
}

TEST_F(DoctorTest, AFolderThatCannotBeWrittenIsStatusTwo) {
  EXPECT_EQ(run(folder_.path() + "/none"), 2);
  EXPECT_THAT(said_,
              HasSubstr("\nwarning: '" + folder_.path() + "/none' cannot be written: No such file or directory\n"));
}

}  // namespace
}  // namespace belay::runtime
