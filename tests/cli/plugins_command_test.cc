// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/plugins/plugins_command.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/loader/plugin_files.h"
#include "tests/loader/sample_file.h"

namespace belay::runtime {
namespace {

class PluginsCommandTest : public ::testing::Test {
 protected:
  PluginsCommandTest() {
    for (const char* name : {"one", "two"}) std::filesystem::create_directory(folder_.file(name));
  }
  std::string run(bool json = false, int columns = 0) {
    SearchPath path;
    for (const char* name : {"one", "two"}) path.directories.push_back({folder_.file(name), "a test"});
    path.warnings.emplace_back("odd \x1b element");
    FilePolicy policy;
    std::ostringstream out;
    EXPECT_EQ(plugins_command(PluginSearch(path, policy, CpuFeatures()), json, out, columns), 0);
    return json ? out.str() : replaced(out.str(), folder_.path(), "DIR");
  }

  const std::string sample_ = bytes_of(sample_file());
  belay::testing::TemporaryFolder folder_;
};

TEST_F(PluginsCommandTest, ListsByKindWithWhatIsNotUsedAndWhy) {
  folder_.write("one/sample.so", sample_);
  folder_.write("two/other.so", replaced(sample_, "sample_hook", "sample_look"));
  folder_.write("two/cut.so", sample_.substr(0, 40));
  EXPECT_EQ(run(), R"(hooks
  sample_hook  1.2.0  DIR/one/sample.so  Has an option of each type
  sample_look  1.2.0  DIR/two/other.so   Has an option of each type

savers
  sample_saver  1.2.0  DIR/one/sample.so  Saves nothing

init_fns
  sample_init_fn  1.2.0  DIR/one/sample.so  Initializes nothing

models
  sample_model  1.2.0  DIR/one/sample.so  Builds nothing

inputs
  sample_input  1.2.0  DIR/one/sample.so  Delivers nothing

not used
  saver sample_saver      1.2.0  DIR/two/other.so  shadowed by DIR/one/sample.so
  init_fn sample_init_fn  1.2.0  DIR/two/other.so  shadowed by DIR/one/sample.so
  model sample_model      1.2.0  DIR/two/other.so  shadowed by DIR/one/sample.so
  input sample_input      1.2.0  DIR/two/other.so  shadowed by DIR/one/sample.so

rejected
  B2005: not_elf: 'DIR/two/cut.so' is too short for a shared library: 40 bytes
    help: copy it or build it again; is the disk full?

searched, in this order
  DIR/one  a test
  DIR/two  a test
warning: odd \x1b element
)");
}

TEST_F(PluginsCommandTest, OnATerminalALineIsALine) {
  folder_.write("one/sample.so", sample_);
  const std::string text = run(false, 40);
  EXPECT_NE(text.find("hooks\n  sample_hook  1.2.0  Has an option of e\n"), std::string::npos) << text;
  EXPECT_NE(text.find("savers\n  sample_saver  1.2.0  Saves nothing\n"), std::string::npos) << text;
}

TEST_F(PluginsCommandTest, SaysThatThereIsNothing) {
  EXPECT_EQ(run(), R"(no plugins

searched, in this order
  DIR/one  a test
  DIR/two  a test
warning: odd \x1b element
)");
}

TEST_F(PluginsCommandTest, AConflictIsShown) {
  folder_.write("one/a.so", sample_);
  folder_.write("one/b.so", sample_);
  const std::string text = run();
  EXPECT_NE(text.find("hook sample_hook        1.2.0  DIR/one/a.so  conflicts with DIR/one/b.so\n"), std::string::npos)
      << text;
}

TEST_F(PluginsCommandTest, JsonStaysValidWithHostileFileNames) {
  folder_.write("one/quote\"\\ \n\x1b \xff.so", sample_);
  folder_.write("two/bad\xfe\".so", "");
  const auto json = nlohmann::json::parse(run(true));
  ASSERT_EQ(json["plugins"].size(), 5u);
  EXPECT_EQ(json["plugins"][0]["kind"], "hook");
  EXPECT_EQ(json["plugins"][0]["name"], "sample_hook");
  EXPECT_EQ(json["plugins"][0]["file"], folder_.file("one/quote\"\\ \n\x1b \xef\xbf\xbd.so"));
  EXPECT_EQ(json["plugins"][0].count("shadowed_by"), 0u);
  ASSERT_EQ(json["rejected"].size(), 1u);
  EXPECT_EQ(json["rejected"][0]["kind"], "not_elf");
  EXPECT_EQ(json["rejected"][0]["reason"], "is too short for a shared library: 0 bytes");
  EXPECT_EQ(json["directories"][1]["path"], folder_.file("two"));
  EXPECT_EQ(json["warnings"][0], "odd \x1b element");
}

}  // namespace
}  // namespace belay::runtime
