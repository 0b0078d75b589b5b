// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <map>

#include "runtime/loader/library/loader.h"
#include "tests/loader/plugin_files.h"
#include "tests/loader/sample_file.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Environment environment(const std::map<std::string, std::string>& values) {
  return [values](const std::string& name) -> std::optional<std::string> {
    const auto at = values.find(name);
    if (at == values.end()) return std::nullopt;
    return at->second;
  };
}

std::vector<std::string> paths(const SearchPath& path) {
  std::vector<std::string> all;
  for (const SearchDirectory& d : path.directories) all.push_back(d.path);
  return all;
}

class SearchTest : public ::testing::Test {
 protected:
  SearchTest() {
    for (const char* name : {"one", "two"}) std::filesystem::create_directory(folder_.file(name));
  }
  PluginSearch search(const std::vector<std::string>& names = {"one", "two"}) {
    SearchPath path;
    for (const std::string& name : names) path.directories.push_back({folder_.file(name), "a test"});
    FilePolicy policy;
    return PluginSearch(path, policy, CpuFeatures());
  }
  std::string find_error(const PluginSearch& search, PluginKind kind, const std::string& name) {
    return load_error_of([&] { search.find(kind, name); }, folder_.path());
  }

  const std::string sample_ = bytes_of(sample_file());
  belay::testing::TemporaryFolder folder_;
};

TEST(SearchPath, IsTheManifestsThenTheEnvironmentsThenTheUsersThenTheInstalled) {
  const SearchPath path =
      plugin_search_path({"/run/plugins"}, environment({{"BELAY_PLUGIN_PATH", "/a:/b"}, {"HOME", "/home/me"}}));
  EXPECT_THAT(paths(path),
              ElementsAre("/run/plugins", "/a", "/b", "/home/me/.local/lib/belay", installed_plugin_directory()));
  EXPECT_THAT(path.warnings, IsEmpty());
}

TEST(SearchPath, TheInstalledDirectoryIsThePrefixsOrTheOneBesideTheProgramsOwn) {
  const belay::testing::TemporaryFolder folder;
  const std::string program = folder.file("bin/belay"), of_the_build = installed_plugin_directory("/nowhere/bin/belay");
  EXPECT_EQ(installed_plugin_directory(program), of_the_build);
  std::filesystem::create_directories(folder.file("plugins"));
  EXPECT_EQ(installed_plugin_directory(program), folder.file("plugins"));
  const std::string installed = folder.file(BELAY_PLUGIN_DIRECTORY_IN_PREFIX);
  std::filesystem::create_directories(installed);
  EXPECT_EQ(installed_plugin_directory(program), installed);
}

TEST(SearchPath, EmptyAndRelativeElementsAreLeftOutWithAWarning) {
  const SearchPath path =
      plugin_search_path({}, environment({{"BELAY_PLUGIN_PATH", ":/a::plugins:./b\x1b:/c:"}, {"HOME", "here"}}));
  EXPECT_THAT(paths(path), ElementsAre("/a", "/c", installed_plugin_directory()));
  const std::string empty =
      "BELAY_PLUGIN_PATH has an empty element, which is left out; remove the ':' at an end or the '::'";
  EXPECT_THAT(
      path.warnings,
      ElementsAre(empty, empty,
                  "BELAY_PLUGIN_PATH has the relative element 'plugins', which is left out; write an absolute path",
                  "BELAY_PLUGIN_PATH has the relative element './b\\x1b', which is left out; write an absolute path",
                  empty));
}

TEST_F(SearchTest, FindsByKindAndName) {
  folder_.write("one/sample.so", sample_);
  const PluginSearch s = search();
  const FoundPlugin& hook = s.find(PluginKind::kHook, "sample_hook");
  EXPECT_EQ(hook.file, folder_.file("one/sample.so"));
  EXPECT_EQ(hook.version, "1.2.0");
  EXPECT_EQ(hook.info.options.size(), 10u);
  EXPECT_EQ(s.find(PluginKind::kInput, "sample_input").file, folder_.file("one/sample.so"));
  EXPECT_EQ(s.plugins().size(), 5u);
  EXPECT_THAT(s.rejected(), IsEmpty());
}

TEST_F(SearchTest, AnUnknownNameGetsTheNearestOneAndWhatWasSearched) {
  folder_.write("one/sample.so", sample_);
  const PluginSearch s = search({"one", "none"});
  EXPECT_EQ(find_error(s, PluginKind::kHook, "sampel_hook"),
            "[B2025] not_found: hook \"sampel_hook\" is not found in DIR/one, DIR/none (does not exist)\n"
            "  help: did you mean \"sample_hook\"? set [plugins] path, BELAY_PLUGIN_PATH or file = \"...\"; "
            "`belay plugins` lists what exists");
  EXPECT_EQ(find_error(search({}), PluginKind::kModel, "mlp"),
            "[B2025] not_found: model \"mlp\" is not found in no directory\n"
            "  help: set [plugins] path, BELAY_PLUGIN_PATH or file = \"...\"; `belay plugins` lists what exists");
}

// A note that cannot be parsed is found when it is asked what there is, and not by a search for another name.
TEST_F(SearchTest, OnlyNotesThatHoldTheNameAreParsed) {
  folder_.write("one/a.so", sample_);
  folder_.write("one/b.so", replaced(sample_, "sample_", "s\x01mple_"));
  folder_.write("two/c.so", sample_);
  const PluginSearch s = search();
  const FoundPlugin& hook = s.find(PluginKind::kHook, "sample_hook");
  EXPECT_EQ(hook.file, folder_.file("one/a.so"));
  EXPECT_EQ(&s.find(PluginKind::kHook, "sample_hook"), &hook);
  ASSERT_EQ(s.rejected().size(), 1u);
  EXPECT_EQ(s.rejected()[0].path, folder_.file("one/b.so"));
  EXPECT_EQ(s.plugins().size(), 10u);
  EXPECT_EQ(hook.file, folder_.file("one/a.so")) << "still there";
}

// A note that was written by hand may do this.
TEST_F(SearchTest, ANameThatANoteWritesWithEscapesIsFoundToo) {
  folder_.write("one/a.so",
                replaced(sample_, "\"sample_hook\",\"doc\":\"Has an ", "\"s\\u0061mple_hook\",\"doc\":\"Ha"));
  EXPECT_EQ(search().find(PluginKind::kHook, "sample_hook").file, folder_.file("one/a.so"));
}

TEST_F(SearchTest, LinkedInNamesAreSuggestedToo) {
  const PluginSearch s = search();
  const std::string error = load_error_of([&] { s.find(PluginKind::kHook, "stop_at_setp", {"stop_at_step"}); });
  EXPECT_NE(error.find("did you mean \"stop_at_step\"?"), std::string::npos) << error;
}

TEST_F(SearchTest, ANameOfAnotherKindIsTold) {
  folder_.write("one/sample.so", sample_);
  EXPECT_EQ(
      find_error(search(), PluginKind::kHook, "sample_saver"),
      "[B2025] not_found: hook \"sample_saver\" is not found, but there is a plugin of that name of the kind saver\n"
      "  help: name it in the section for the kind saver");
}

TEST_F(SearchTest, ANameWithASlashNeverResolves) {
  folder_.write("one/sample.so", sample_);
  EXPECT_EQ(find_error(search(), PluginKind::kHook, "../one/sample.so"),
            "[B2025] not_found: \"../one/sample.so\" is no plugin's name: it has a '/'\n"
            "  help: to load a library by its path, write file = \"../one/sample.so\"");
}

TEST_F(SearchTest, AnEarlierDirectoryShadowsALaterOne) {
  folder_.write("one/a.so", sample_);
  folder_.write("two/b.so", sample_);
  const PluginSearch s = search();
  EXPECT_EQ(s.find(PluginKind::kHook, "sample_hook").file, folder_.file("one/a.so"));
  ASSERT_EQ(s.plugins().size(), 10u);
  EXPECT_EQ(s.plugins()[0].shadowed_by, "");
  EXPECT_EQ(s.plugins()[5].file, folder_.file("two/b.so"));
  EXPECT_EQ(s.plugins()[5].shadowed_by, folder_.file("one/a.so"));
}

TEST_F(SearchTest, TwoFilesOfOneDirectoryWithTheSamePluginAreAnErrorForThatName) {
  folder_.write("one/a.so", sample_);
  folder_.write("one/b.so", replaced(sample_, "sample_hook", "sample_look"));
  const PluginSearch s = search();
  EXPECT_EQ(s.find(PluginKind::kHook, "sample_hook").file, folder_.file("one/a.so"));
  EXPECT_EQ(s.find(PluginKind::kHook, "sample_look").file, folder_.file("one/b.so"));
  EXPECT_EQ(find_error(s, PluginKind::kSaver, "sample_saver"),
            "[B2024] duplicate: 'DIR/one/a.so' (1.2.0) and 'DIR/one/b.so' both offer the saver \"sample_saver\"\n"
            "  help: remove one of them, or name the one you want with file = \"...\"");
}

TEST_F(SearchTest, LinksToOneFileAreOneFile) {
  folder_.write("one/a.so", sample_);
  std::filesystem::create_symlink("a.so", folder_.file("one/b.so"));
  std::filesystem::create_hard_link(folder_.file("one/a.so"), folder_.file("one/c.so"));
  std::filesystem::create_symlink("../one/a.so", folder_.file("two/d.so"));
  const PluginSearch s = search({"one", "one", "two"});
  EXPECT_EQ(s.plugins().size(), 5u);
  EXPECT_EQ(s.find(PluginKind::kHook, "sample_hook").file, folder_.file("one/a.so"));
}

TEST_F(SearchTest, EachBadFileIsRejectedWithItsReasonAndTheOthersAreListed) {
  folder_.write("one/cut.so", sample_.substr(0, 2000));
  folder_.write("one/empty.so", "");
  folder_.write("one/good.so", sample_);
  folder_.write("one/readme.txt", "no plugin");
  folder_.write("one/.hidden.so", sample_);
  std::filesystem::create_directory(folder_.file("one/dir.so"));
  std::filesystem::create_symlink("nowhere.so", folder_.file("one/dangling.so"));
  std::filesystem::create_symlink("loop.so", folder_.file("one/loop.so"));
  ASSERT_EQ(::mkfifo(folder_.file("one/pipe.so").c_str(), 0644), 0);
  const PluginSearch s = search();
  std::vector<std::string> rejected;
  for (const RejectedFile& r : s.rejected())
    rejected.push_back(std::filesystem::path(r.path).filename().string() + " " + kind_name(r.error.kind()));
  EXPECT_THAT(rejected, ElementsAre("cut.so truncated", "dangling.so not_found", "dir.so not_regular",
                                    "empty.so not_elf", "loop.so not_found", "pipe.so not_regular"));
  EXPECT_EQ(s.plugins().size(), 5u);
  EXPECT_EQ(replaced(s.rejected()[1].error.reason(), folder_.path(), "DIR"),
            "is a symbolic link to 'nowhere.so', which does not exist");
  EXPECT_EQ(s.rejected()[4].error.reason(), "cannot be opened: too many levels of symbolic links");
}

TEST_F(SearchTest, ARefusedFileCalledAfterThePluginIsTheReason) {
  folder_.write("one/ema.so", "");
  folder_.write("one/libsma.so", "");
  const PluginSearch s = search();
  EXPECT_EQ(find_error(s, PluginKind::kHook, "ema"),
            "[B2005] not_elf: 'DIR/one/ema.so' is too short for a shared library: 0 bytes\n"
            "  help: give the .so file of a plugin");
  EXPECT_EQ(find_error(s, PluginKind::kHook, "sma").rfind("[B2005] not_elf: 'DIR/one/libsma.so' ", 0), 0u);
}

TEST_F(SearchTest, AWorldWritableDirectoryIsRejectedWhole) {
  folder_.write("one/good.so", sample_);
  ASSERT_EQ(::chmod(folder_.file("one").c_str(), 0777), 0);
  const PluginSearch s = search();
  EXPECT_THAT(s.plugins(), IsEmpty());
  ASSERT_EQ(s.rejected().size(), 1u);
  EXPECT_EQ(replaced(s.rejected()[0].error.what(), folder_.path(), "DIR"),
            "[B2004] insecure: 'DIR/one' can be written by everybody\n  help: chmod o-w 'DIR/one'");
}

TEST_F(SearchTest, T_63g_APluginInAnInsecureDirectoryIsNotSaidToBeNowhere) {
  folder_.write("one/sample_hook.so", sample_);
  ASSERT_EQ(::chmod(folder_.file("one").c_str(), 0777), 0);
  const PluginSearch s = search();
  EXPECT_EQ(find_error(s, PluginKind::kHook, "sample_hook"),
            "[B2004] insecure: 'DIR/one' can be written by everybody\n  help: chmod o-w 'DIR/one'");
  EXPECT_EQ(
      find_error(s, PluginKind::kHook, "other"),
      "[B2025] not_found: hook \"other\" is not found in DIR/one (refused: it can be written by everybody), DIR/two\n"
      "  help: set [plugins] path, BELAY_PLUGIN_PATH or file = \"...\"; `belay plugins` lists what exists");
  ASSERT_EQ(s.warnings().size(), 1u);
  EXPECT_EQ(replaced(s.warnings()[0], folder_.path(), "DIR"),
            "plugin directory 'DIR/one' is not searched: it can be written by everybody; chmod o-w 'DIR/one'");
}

TEST_F(SearchTest, FoldersBelowAreNotEntered) {
  std::filesystem::create_directory(folder_.file("one/sub"));
  folder_.write("one/sub/good.so", sample_);
  EXPECT_THAT(search().plugins(), IsEmpty());
}

TEST_F(SearchTest, ACircleOfFoldersIsNotEntered) {
  folder_.write("one/good.so", sample_);
  std::filesystem::create_directory_symlink("..", folder_.file("one/up"));
  std::filesystem::create_directory_symlink(".", folder_.file("one/self.so"));
  const PluginSearch s = search();
  EXPECT_EQ(s.plugins().size(), 5u);
  ASSERT_EQ(s.rejected().size(), 1u);
  EXPECT_EQ(s.rejected()[0].error.reason(), "is a directory, not a file");
}

TEST_F(SearchTest, OtherFilesAreNotOpened) {
  folder_.write("one/good.so", sample_);
  const std::string fifo = folder_.file("one/00000");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0644), 0);  // opened, it would hang the search
  for (int i = 1; i < 5'000; ++i)
    ASSERT_EQ(::symlink("00000", folder_.file("one/" + std::to_string(100'000 + i)).c_str()), 0);
  EXPECT_EQ(search({"one"}).plugins().size(), 5u);
}

// A thousand files; how long it takes: bench/run.py.
class ThousandFiles : public SearchTest {
 protected:
  static constexpr int kFiles = 1000;
  void write_good(int i) {
    const std::string digits = std::to_string(100000 + i);
    folder_.write("one/" + digits + ".so", replaced(small_, "minimal", "p" + digits));
  }
  void write_bad(int i) { folder_.write("one/" + std::to_string(100000 + i) + ".so", sample_.substr(0, 64)); }

  const std::string small_ = bytes_of(BELAY_BAD_PLUGIN_DIR "/minimal.so");
};

TEST_F(ThousandFiles, AreListed) {
  for (int i = 0; i < kFiles; ++i) write_good(i);
  EXPECT_EQ(search({"one"}).plugins().size(), std::size_t{kFiles});
}

TEST_F(ThousandFiles, OfWhichHalfAreBadAreListedWithoutThem) {
  for (int i = 0; i < kFiles; ++i) i % 2 == 0 ? write_good(i) : write_bad(i);
  const PluginSearch s = search({"one"});
  EXPECT_EQ(s.plugins().size(), std::size_t{kFiles / 2});
  EXPECT_EQ(s.rejected().size(), std::size_t{kFiles / 2});
  for (const RejectedFile& r : s.rejected()) ASSERT_EQ(r.error.kind(), LoadErrorKind::kTruncated) << r.error.what();
}

TEST_F(ThousandFiles, OfWhichAllAreBadAreEachRejected) {
  for (int i = 0; i < kFiles; ++i) write_bad(i);
  const PluginSearch s = search({"one"});
  EXPECT_THAT(s.plugins(), IsEmpty());
  EXPECT_EQ(s.rejected().size(), std::size_t{kFiles});
}

// In a separate process, because loaded libraries stay.
TEST_F(ThousandFiles, CanAllBeLoaded) {
  for (int i = 0; i < kFiles; ++i) write_good(i);
  const auto load_all = [&] {
    FilePolicy policy;
    const CpuFeatures cpu;
    Loader loader(policy, cpu, "");
    std::size_t loaded = 0;
    for (int i = 0; i < kFiles; ++i)
      loaded += loader.load(folder_.file("one/" + std::to_string(100000 + i) + ".so")).info.plugins.size();
    std::cerr << loaded << " loaded\n";
    std::_Exit(0);
  };
  EXPECT_EXIT(load_all(), ::testing::ExitedWithCode(0), "^1000 loaded\n$");
}

}  // namespace
}  // namespace belay::runtime
