// SPDX-License-Identifier: Apache-2.0
// README.md and sdk/README.md: what they show works, what they name is there.
#include <gmock/gmock.h>

#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "runtime/cli/command_line.h"
#include "runtime/manifest/parse.h"
#include "tests/docs/page.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

using ::testing::HasSubstr;

TEST(Readme, ListsEveryCommand) {
  const std::string readme = read_source("README.md");
  for (const std::string& command : command_names()) EXPECT_THAT(readme, HasSubstr("\n    belay " + command + " "));
}

TEST(SdkReadme, ItsCostsAreHeldToTheLimitsThatItNames) {
  const auto baseline = nlohmann::json::parse(read_source("bench/baseline.json")).at("measures");
  const std::vector<PageSection> sections = sections_of(read_source("sdk/README.md"));
  const PageSection* cost = find_section(sections, "What it costs");
  ASSERT_NE(cost, nullptr);
  int measures = 0;
  for (const Row& row : cost->rows) {
    const std::string measure = code_of(row.at(0));
    if (row.size() < 4) continue;  // the table of lines
    ASSERT_TRUE(baseline.contains(measure)) << measure;
    EXPECT_EQ(std::stod(row.at(3)), baseline[measure]["limit"].get<double>()) << measure;
    EXPECT_LE(std::stod(row.at(2)), std::stod(row.at(3))) << measure;
    ++measures;
  }
  EXPECT_EQ(measures, 3);
}

TEST(Readme, ItsManifestHasNoMistake) {
  Diagnostics problems;
  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "BELAY_DATA_DIR") return "/data";
    return std::nullopt;
  };
  const auto manifest =
      parse_manifest({"README.md", code_block(read_source("README.md"), "[run]")}, {}, environment, problems);
  EXPECT_EQ(problems.text(), "");
  ASSERT_TRUE(manifest);
  EXPECT_EQ(manifest->hooks.size(), 1u);
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
