// SPDX-License-Identifier: Apache-2.0
// What README.md shows works, and its figures are those of the benchmarks.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/docs/page.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

using ::testing::HasSubstr;

TEST(Readme, IsReadInAMinute) {
  const std::string readme = read_source("README.md");
  std::istringstream words(readme);
  EXPECT_LE(std::count(readme.begin(), readme.end(), '\n'), 100);
  EXPECT_LE(std::distance(std::istream_iterator<std::string>(words), {}), 900);
}

TEST(Readme, ItsSpeedIsThatOfTheBaseline) {
  const auto baseline = nlohmann::json::parse(read_source("bench/baseline.json")).at("measures");
  const auto was = [&](const std::string& measure) { return baseline.at(measure).at("was").get<double>(); };
  const std::vector<PageSection> sections = sections_of(read_source("README.md"));
  const PageSection* speed = find_section(sections, "Speed");
  ASSERT_NE(speed, nullptr);
  ASSERT_EQ(speed->rows.size(), 4u);
  for (const Row& row : speed->rows) {
    const std::string model = code_of(row.at(0));
    EXPECT_EQ(row.at(1), fmt::format("{:.1f} times", 1 / was(model + "_1_to_libtorch"))) << model;
    EXPECT_EQ(row.at(2), fmt::format("{:.1f} times", 1 / was(model + "_1_to_tuned"))) << model;
  }
  EXPECT_NEAR(60e6 / was("cnn_1_us"), 2000, 200) << "the steps a minute that the table of what it lacks has";
  EXPECT_THAT(speed->text, HasSubstr(fmt::format("A run of one step takes {:.0f} ms and {:.0f} MiB of memory",
                                                 was("cold_start_ms"), was("cold_start_mib"))));
}

TEST(Readme, ItsMistakeIsShownAsTheProgramSaysIt) {
  const std::string shown = code_block(read_source("README.md"), "$ sed ");
  const std::string command = shown.substr(2, shown.find('\n') - 2);
  const TempDir directory;
  const std::string out = directory / "out";
  const std::string line = "cd '" BELAY_SOURCE_DIR "' && export PATH='" BELAY_BINARY_DIR
                           "/bin':$PATH BELAY_PLUGIN_PATH='" BELAY_BINARY_DIR "/plugins' && " +
                           command + " >" + out + " 2>&1";
  EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 2) << line;
  std::ostringstream said;
  said << std::ifstream(out).rdbuf();
  const std::string block = shown.substr(shown.find('\n') + 1);
  EXPECT_EQ(said.str(), block.substr(0, block.find_last_not_of('\n') + 2));
}

TEST(Readme, ItsHookCompilesWithNothingButTheSdk) {
  const TempDir directory;
  const std::string source = directory / "loss_ceiling.cc";
  // Without the command line that is below the code.
  const std::string code = code_block(read_source("README.md"), "#include <belay/plugin.h>");
  std::ofstream(source) << code.substr(0, code.find("\ng++ "));
  const std::string command =
      BELAY_CXX_COMPILER " -std=c++17 -Wall -Wextra -Werror -fPIC -fsyntax-only -I" BELAY_SOURCE_DIR "/sdk/include " +
      source;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

}  // namespace
}  // namespace belay::runtime
