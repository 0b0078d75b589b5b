// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/library/loader.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/loader/plugin_files.h"
#include "tests/loader/sample_file.h"

namespace belay::runtime {
namespace {

class LoaderTest : public ::testing::Test {
 protected:
  std::string load_error(const std::string& path) {
    return load_error_of([&] { loader_.load(path); }, folder_.path());
  }

  belay::testing::TemporaryFolder folder_;
  const std::string sample_ = bytes_of(sample_file());
  FilePolicy policy_;
  const CpuFeatures cpu_;
  Loader loader_{policy_, cpu_, ""};
};

TEST_F(LoaderTest, LoadsAPluginAndReadsItsModule) {
  const LoadedLibrary& library = loader_.load(sample_file());
  EXPECT_EQ(library.path, sample_file());
  EXPECT_EQ(library.info.plugins.size(), 5u);
  EXPECT_EQ(library.module->magic, BELAY_MODULE_MAGIC);
  EXPECT_EQ(library.module->n_plugins, 5u);
}

TEST_F(LoaderTest, OneFileIsLoadedOnceByWhateverPath) {
  const std::string path = folder_.write("a.so", sample_);
  std::filesystem::create_symlink("a.so", folder_.file("b.so"));
  std::filesystem::create_hard_link(path, folder_.file("c.so"));
  const LoadedLibrary& a = loader_.load(path);
  EXPECT_EQ(&loader_.load(folder_.file("b.so")), &a);
  EXPECT_EQ(&loader_.load(folder_.file("c.so")), &a);
  EXPECT_EQ(&loader_.load(path), &a);
}

TEST_F(LoaderTest, CopiesAreLibrariesOfTheirOwn) {
  const LoadedLibrary& a = loader_.load(folder_.write("a.so", sample_));
  const LoadedLibrary& b = loader_.load(folder_.write("b.so", sample_));
  EXPECT_NE(a.module, b.module);
}

TEST_F(LoaderTest, ALibraryOutlivesItsLoader) {
  const belay_module* module = nullptr;
  {
    Loader other(policy_, cpu_, "");
    module = other.load(folder_.write("a.so", sample_)).module;
  }
  EXPECT_EQ(module->magic, BELAY_MODULE_MAGIC);
}

TEST_F(LoaderTest, AFileReplacedAfterItWasLoadedIsRefused) {
  const std::string path = folder_.write("a.so", sample_);
  const LoadedLibrary& before = loader_.load(path);
  folder_.write("new.so", sample_);
  std::filesystem::rename(folder_.file("new.so"), path);
  EXPECT_EQ(load_error(path),
            "[B2022] stale: 'DIR/a.so' was replaced after it was loaded\n  help: start the program again");
  EXPECT_EQ(before.module->magic, BELAY_MODULE_MAGIC);
}

// The file that a plugin's initializer, a build or an installer puts in the place of one that was vetted.
TEST_F(LoaderTest, T_24_AFileThatWasExchangedOrWrittenToAfterItsNoteWasReadIsNotLoaded) {
  const std::string path = folder_.write("a.so", sample_);
  const std::string exchanged =
      "[B2022] stale: 'DIR/a.so' was replaced or written to between its check and its loading\n"
      "  help: start the program again; a library is installed by a rename, while nothing starts that uses it";
  const auto load_vetted = [&](const FileStamp& vetted) {
    return load_error_of([&] { loader_.load(path, vetted); }, folder_.path());
  };
  const FileStamp vetted = *stamp_of(path);
  folder_.write("new.so", sample_);
  std::filesystem::rename(folder_.file("new.so"), path);
  EXPECT_EQ(load_vetted(vetted), exchanged);
  const FileStamp renamed = *stamp_of(path);
  std::ofstream(path, std::ios::app | std::ios::binary) << "x";
  EXPECT_EQ(load_vetted(renamed), exchanged);
  EXPECT_EQ(load_vetted(*stamp_of(path)), "");
}

TEST_F(LoaderTest, T_24_AFileThatIsWrittenToWhileItIsLoadedIsRefused) {
  const std::string path = folder_.write("a.so", bytes_of(BELAY_BAD_PLUGIN_DIR "/changes_its_file.so"));
  ::setenv("BELAY_TEST_CHANGES", path.c_str(), 1);
  EXPECT_EQ(load_error(path),
            "[B2022] stale: 'DIR/a.so' was replaced or written to between its check and its loading\n"
            "  help: start the program again; a library is installed by a rename, while nothing starts that uses it");
  ::unsetenv("BELAY_TEST_CHANGES");
}

TEST_F(LoaderTest, HostileNamesLoadAndAreEscapedInMessages) {
  for (const char* name : {"with space.so", "quote\"'.so", "new\nline.so", "bytes\xff\xfe.so", "caf\xc3\xa9.so"})
    EXPECT_EQ(loader_.load(folder_.write(name, sample_)).info.plugins.size(), 5u) << name;
  const std::string longest = std::string(252, 'n') + ".so";
  EXPECT_EQ(loader_.load(folder_.write(longest, sample_)).info.plugins.size(), 5u);
  EXPECT_EQ(load_error(folder_.write("bad\n\x1b[31m\xff.so", "")),
            "[B2005] not_elf: 'DIR/bad\\n\\x1b[31m\\xff.so' is too short for a shared library: 0 bytes\n"
            "  help: give the .so file of a plugin");
}

TEST_F(LoaderTest, AStrippedPluginLoads) {
  const std::string path = folder_.write("stripped.so", sample_);
  if (std::system(("strip --strip-all '" + path + "' 2>/dev/null").c_str()) != 0) GTEST_SKIP() << "no strip here";
  EXPECT_LT(std::filesystem::file_size(path), sample_.size());
  EXPECT_EQ(loader_.load(path).info.plugins.size(), 5u);
}

TEST_F(LoaderTest, ALargeFileIsReadInPieces) {
  const std::string path = folder_.write("large.so", sample_);
  std::filesystem::resize_file(path, std::uintmax_t{3} << 30);
  EXPECT_EQ(loader_.load(path).info.plugins.size(), 5u);
}

}  // namespace
}  // namespace belay::runtime
