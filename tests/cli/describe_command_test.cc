// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/plugins/describe_command.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/loader/plugin_files.h"
#include "tests/loader/sample_file.h"

namespace belay::runtime {
namespace {

class DescribeCommandTest : public ::testing::Test {
 protected:
  DescribeCommandTest() : file_(folder_.write("sample.so", bytes_of(sample_file()))) {}
  int run(const std::string& what, bool json = false) {
    SearchPath path;
    path.directories.push_back({folder_.path(), "a test"});
    FilePolicy policy;
    std::ostringstream out, err;
    const int status = describe_command(what, PluginSearch(path, policy, CpuFeatures()), json, out, err);
    out_ = replaced(out.str(), folder_.path(), "DIR");
    err_ = replaced(err.str(), folder_.path(), "DIR");
    return status;
  }

  belay::testing::TemporaryFolder folder_;
  const std::string file_;
  std::string out_, err_;
};

TEST_F(DescribeCommandTest, ShowsOptionsWithTypeDefaultLimitsAndHelp) {
  ASSERT_EQ(run("sample_hook"), 0) << err_;
  EXPECT_EQ(out_.substr(0, out_.find("library\n")), R"(hook "sample_hook"
  Has an option of each type
  callbacks: end
  keeps no state
  options
    at_end        bool         default false                          once, when the run ends
    every_n_iter  int          default 100     at least 1             period in steps
    max           float        default 10      0 to 1e+30             stop above this
    mode          string       default "fast"  one of "fast", "slow"  how thorough
    target        path         default ""                             where to write
    hidden        int_list     default [128]   1 to 4096              layer sizes
    rates         float_list   default []                             one per layer
    tensors       string_list  required                               what to watch
    files         path_list    default []                             what to read
    feeds         table                                               values to feed

  in a manifest
    [[hooks]]
    plugin = "sample_hook"
    tensors = ["..."]

)");
}

TEST_F(DescribeCommandTest, ShowsTheLibrary) {
  ASSERT_EQ(run("saver:sample_saver"), 0) << err_;
  EXPECT_EQ(out_.substr(0, out_.find("toolchain")), R"(saver "sample_saver"
  Saves nothing
  no options

  in a manifest
    [scaffold.saver]
    plugin = "sample_saver"

library
  file          DIR/sample.so
  version       1.2.0
  ABI           0.4
  )");
  for (const char* part :
       {"  instructions  the baseline\n", "  exports       1 symbol\n", "  needs         libc.so.6 (/"})
    EXPECT_NE(out_.find(part), std::string::npos) << part << out_;
  EXPECT_EQ(out_.find("warning"), std::string::npos) << out_;
}

TEST_F(DescribeCommandTest, AFileShowsAllItsPlugins) {
  ASSERT_EQ(run(file_), 0) << err_;
  for (const char* part : {"hook \"sample_hook\"", "saver \"sample_saver\"", "init_fn \"sample_init_fn\"",
                           "model \"sample_model\"", "input \"sample_input\""})
    EXPECT_NE(out_.find(part), std::string::npos) << part;
  EXPECT_EQ(out_.find("library\n"), out_.rfind("library\n"));
}

TEST_F(DescribeCommandTest, N_04c_APluginOfAFileThatWasAskedForIsPastedWithItsFile) {
  ASSERT_EQ(run(file_), 0) << err_;
  EXPECT_NE(out_.find("    [model]\n    plugin = \"sample_model\"\n    file = \"DIR/sample.so\"\n"), std::string::npos)
      << out_;
}

TEST_F(DescribeCommandTest, AMissingDependencyIsShown) {
  ASSERT_EQ(run(BELAY_BAD_PLUGIN_DIR "/missing_dep.so"), 0) << err_;
  EXPECT_NE(out_.find("  needs         libbelay_test_absent.so (missing)\n"), std::string::npos) << out_;
}

TEST_F(DescribeCommandTest, JsonHasEverything) {
  const std::string file = folder_.write("hostile\"\n\xff.so", bytes_of(sample_file()));
  ASSERT_EQ(run(file, true), 0) << err_;
  const auto json = nlohmann::json::parse(out_);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["file"], "DIR/hostile\"\n\xef\xbf\xbd.so");
  EXPECT_EQ(json[0]["abi"], (std::vector<int>{BELAY_ABI_MAJOR, BELAY_ABI_MINOR}));
  EXPECT_EQ(json[0]["exports"], std::vector<std::string>{"belay_module_v0"});
  ASSERT_EQ(json[0]["plugins"].size(), 5u);
  const auto& options = json[0]["plugins"][0]["options"];
  EXPECT_EQ(options[2], nlohmann::json::parse(
                            R"({"name": "max", "type": "float", "default": 10.0, "min": 0.0, "max": 1e30,
                                "help": "stop above this"})"));
  EXPECT_EQ(options[7]["required"], true);
  const auto& needs = json[0]["dependencies"];
  EXPECT_TRUE(std::any_of(needs.begin(), needs.end(), [](const auto& d) { return d["name"] == "libc.so.6"; }));
}

TEST_F(DescribeCommandTest, WhatIsNotThereIsStatus3WithTheReason) {
  const struct {
    std::string what, expected;
  } cases[] = {
      {"sampel_hook",
       "error[B2025]: not_found: plugin \"sampel_hook\" is not found in DIR\n"
       "  help: did you mean \"sample_hook\"? `belay plugins` lists what exists\n"},
      {"model:sample_hook",
       "error[B2025]: not_found: model \"sample_hook\" is not found, but there is a plugin of that name of the kind "
       "hook\n"
       "  help: name it in the section for the kind hook\n"},
      {"hooks:x",
       "error[B2028]: not_found: \"hooks\" is no kind of plugin\n  help: kinds: hook, saver, init_fn, model, input, "
       "op, "
       "optimizer, schedule, exporter, cluster\n"},
      {folder_.file("none.so"),
       "error[B2001]: not_found: 'DIR/none.so' does not exist\n"
       "  help: check the path; in a manifest it is relative to the manifest\n"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(run(c.what), 3);
    EXPECT_EQ(err_, c.expected);
    EXPECT_EQ(out_, "");
  }
}

TEST_F(DescribeCommandTest, ARefusedFileIsTheReason) {
  folder_.write("ema.so", "");
  EXPECT_EQ(run("ema"), 3);
  EXPECT_EQ(err_,
            "error[B2005]: not_elf: 'DIR/ema.so' is too short for a shared library: 0 bytes\n"
            "  help: give the .so file of a plugin\n");
}

}  // namespace
}  // namespace belay::runtime
