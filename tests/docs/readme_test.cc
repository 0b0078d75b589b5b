// README.md: what it shows works, what it names is there.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <regex>

#include "runtime/cli/command_line.h"
#include "runtime/manifest/parse.h"
#include "tests/docs/page.h"

namespace belay::runtime {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::vector<std::string> pages() {  // in the source directory
  std::vector<std::string> names = {"README.md"};
  for (const auto& entry : fs::directory_iterator(BELAY_SOURCE_DIR "/docs"))
    if (entry.path().extension() == ".md") names.push_back("docs/" + entry.path().filename().string());
  return names;
}

std::vector<std::string> relative_links(const std::string& page) {
  static const std::regex link(R"(\]\(([^)#\s]+)[^)]*\))");
  std::vector<std::string> targets;
  for (std::sregex_iterator it(page.begin(), page.end(), link), end; it != end; ++it)
    if (it->str(1).find("://") == std::string::npos) targets.push_back(it->str(1));
  return targets;
}

TEST(Pages, RelativeLinksLeadToFiles) {
  int links = 0;
  for (const std::string& page : pages())
    for (const std::string& target : relative_links(read_source(page))) {
      EXPECT_TRUE(fs::exists(fs::path(BELAY_SOURCE_DIR) / fs::path(page).parent_path() / target))
          << page << " links to " << target;
      ++links;
    }
  EXPECT_GE(links, 7);
}

TEST(Readme, LinksEveryPage) {
  const std::vector<std::string> links = relative_links(read_source("README.md"));
  for (const std::string& page : pages()) {
    if (page == "README.md") continue;
    EXPECT_THAT(links, testing::Contains(page));
  }
}

TEST(Readme, ListsEveryCommand) {
  const std::string readme = read_source("README.md");
  for (const std::string& command : command_names()) EXPECT_THAT(readme, HasSubstr("\n    belay " + command + " "));
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

TEST(Readme, ItsHookCompilesWithNothingButTheSdk) {
  std::string directory = testing::TempDir() + "belay_readme_XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string source = directory + "/loss_ceiling.cc";
  // Without the command line that stands below the code.
  const std::string code = code_block(read_source("README.md"), "#include <belay/plugin.h>");
  std::ofstream(source) << code.substr(0, code.find("\ng++ "));
  const std::string command =
      BELAY_CXX_COMPILER " -std=c++17 -Wall -Wextra -Werror -fPIC -fsyntax-only -I" BELAY_SOURCE_DIR "/sdk/include " +
      source;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  fs::remove_all(directory);
}

}  // namespace
}  // namespace belay::runtime
