// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/resume/data_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

class DataFilesTest : public ::testing::Test {
 protected:
  void write(const std::string& text, const std::string& name = "data") const { std::ofstream(temp_ / name) << text; }
  // An input with the option `path`, and what is marked of its file.
  std::vector<DataFile> marked(bool whole = false) { return mark_of("data", whole); }
  std::vector<DataFile> mark_of(const std::string& name, bool whole = false) {
    ResolvedPlugin input;
    OptionInfo option;
    option.name = "path";
    option.type = OptionType::kPath;
    input.info.options = {option};
    input.options.add("path", OptionValue(std::string(temp_ / name)), OptionType::kPath);
    return data_files(posix_file_system(), "input.train", input, whole);
  }
  std::string difference(const DataFile& before, const DataFile& now) {
    other_content_ = false;
    return difference_of(before, now, other_content_);
  }

  TempDir temp_;
  bool other_content_ = false;
};

TEST_F(DataFilesTest, AreFoundByTheirOptionsAndComeBackFromTheirLines) {
  write("1,2,3\n");
  const std::vector<DataFile> files = marked(true);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].option, "input.train.path");
  EXPECT_EQ(files[0].bytes, 6u);
  EXPECT_FALSE(files[0].whole.empty());
  EXPECT_EQ(parse_data_files("[run]\nseed = 1\n" + data_file_lines(files)), files);
}

TEST_F(DataFilesTest, ADamagedLineIsLeftOut) {
  EXPECT_TRUE(parse_data_files("#file {\"option\":\n#file {\"option\":1}\n#file \n").empty());
}

TEST_F(DataFilesTest, NoFileIsNoMark) {
  EXPECT_TRUE(marked().empty());
  std::filesystem::create_directory(temp_ / "data");
  EXPECT_TRUE(marked().empty());
}

TEST_F(DataFilesTest, AnEmptyFileHasAMark) {
  write("");
  ASSERT_EQ(marked().size(), 1u);
  EXPECT_EQ(difference(marked()[0], marked()[0]), "");
}

TEST_F(DataFilesTest, EachEndOfALongFileCounts) {
  std::string text(300000, 'a');
  write(text);
  const DataFile before = marked()[0];
  for (const std::size_t at : {std::size_t{0}, std::size_t{65535}, text.size() - 65536, text.size() - 1}) {
    std::string other = text;
    other[at] = 'b';
    write(other);
    EXPECT_EQ(difference(before, marked()[0]), "has other bytes than it had") << at;
    EXPECT_TRUE(other_content_);
  }
}

TEST_F(DataFilesTest, TheMiddleCountsWhereBothWereReadInFull) {
  std::string text(300000, 'a');
  write(text);
  const DataFile before = marked(true)[0];
  text[150000] = 'b';
  write(text);
  EXPECT_EQ(difference(before, marked(true)[0]), "has other bytes than it had");
  DataFile touched = marked()[0];
  touched.modified_ns = before.modified_ns + 1;
  EXPECT_EQ(difference(before, touched), "was written again; its size, beginning and end are the same");
  EXPECT_FALSE(other_content_);
}

TEST_F(DataFilesTest, AnotherSizeIsSaid) {
  write("abc");
  const DataFile before = marked()[0];
  write("abcd");
  EXPECT_EQ(difference(before, marked()[0]), "had 3 bytes, has 4");
}

// Each with the option `path` below a table and one that only watches.
ResolvedPlugin plugin_with_files(const std::string& path) {
  ResolvedPlugin plugin;
  OptionInfo option;
  option.type = OptionType::kPath;
  option.name = "tables[].path";
  plugin.info.nested = {option};
  option.name = "log";
  option.watching = true;
  plugin.info.options = {option};
  plugin.options.add("tables.0.path", OptionValue(path), OptionType::kPath);
  plugin.options.add("log", OptionValue(path), OptionType::kPath);
  return plugin;
}

PluginUse use_at(int line) {
  PluginUse use;
  use.plugin = "p" + std::to_string(line);
  use.at = {"m.toml", line, 1};
  PluginOption option;
  option.key = "tables.0.path";
  option.value_at = {"m.toml", line + 1, 8};
  use.options = {option};
  return use;
}

TEST_F(DataFilesTest, EachPluginThatTheNumbersDependOnIsLookedAt) {
  write("1,2,3\n");
  const std::string path = temp_ / "data";
  Manifest manifest;
  static_cast<PluginUse&>(manifest.inputs["train"]) = use_at(10);
  static_cast<PluginUse&>(manifest.inputs["eval"]) = use_at(20);
  manifest.model = use_at(30);
  manifest.hooks = {use_at(40), use_at(50)};
  manifest.optimizer.learning_rate.schedule = "s";
  manifest.optimizer.groups.resize(1);
  ResolvedPlugins plugins;
  plugins.inputs["train"] = plugin_with_files(path);
  plugins.inputs["eval"] = plugin_with_files(path);
  plugins.model = plugin_with_files(path);
  plugins.optimizer = plugin_with_files(path);
  plugins.schedule = plugin_with_files(path);
  plugins.optimizer_groups.push_back(plugin_with_files(path));
  plugins.init_fns.push_back(plugin_with_files(path));
  plugins.hooks.push_back(plugin_with_files(path));  // one is called before the other
  plugins.hooks.back().at = {"m.toml", 50, 1};
  plugins.hooks.push_back(plugin_with_files(temp_ / "none"));
  plugins.hooks.back().at = {"m.toml", 40, 1};

  std::vector<std::string> found;
  for (const TrainingFile& f : training_files(posix_file_system(), manifest, plugins, false)) {
    EXPECT_EQ(f.file.path, path);
    found.push_back(f.file.option + " " + std::to_string(f.at.line));
  }
  EXPECT_THAT(found, ::testing::ElementsAre("input.train.tables.0.path 11", "model.tables.0.path 31",
                                            "optimizer.tables.0.path 0", "optimizer.learning_rate.tables.0.path 0",
                                            "optimizer.groups.0.tables.0.path 0", "hooks.p50.tables.0.path 51"));
}

TEST_F(DataFilesTest, AnArrayInAnArchiveCountsAsItsFile) {
  write("abc", "data.npz");
  EXPECT_TRUE(mark_of("none.npz:rows").empty());
  const std::vector<DataFile> before = mark_of("data.npz:rows");
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].path, temp_ / "data.npz:rows");
  EXPECT_EQ(before[0].ends, mark_of("data.npz")[0].ends);
  EXPECT_THAT(data_file_sets(data_file_lines(before)),
              ::testing::ElementsAre("input.train.path=\"" + (temp_ / "data.npz:rows") + "\""));
  write("abd", "data.npz");
  EXPECT_EQ(difference(before[0], mark_of("data.npz:rows")[0]), "has other bytes than it had");
}

TEST_F(DataFilesTest, APatternCountsAsAllOfItsFiles) {
  EXPECT_TRUE(mark_of("part-*").empty());
  write("ab", "part-1");
  write("cd", "part-2");
  write("abcd");
  const std::vector<DataFile> before = mark_of("part-*", true);
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].path, temp_ / "part-*");
  EXPECT_EQ(before[0].bytes, 4u);
  EXPECT_EQ(before[0].whole, marked(true)[0].whole);
  EXPECT_THAT(data_file_sets(data_file_lines(before)),
              ::testing::ElementsAre("input.train.path=\"" + (temp_ / "part-*") + "\""));
  write("cc", "part-2");
  EXPECT_EQ(difference(before[0], mark_of("part-*", true)[0]), "has other bytes than it had");
  write("e", "part-3");
  EXPECT_EQ(difference(before[0], mark_of("part-*", true)[0]), "had 4 bytes, has 5");
}

TEST_F(DataFilesTest, FilesOfHooksAreNoSettings) {
  write("1\n");
  const std::string path = temp_ / "data";
  const std::string lines = data_file_lines({{"model.path", path, 2, 0, ""}, {"hooks.guard.path", path, 2, 0, ""}});
  EXPECT_THAT(data_file_sets(lines), ::testing::ElementsAre("model.path=\"" + path + "\""));
}

}  // namespace
}  // namespace belay::runtime
