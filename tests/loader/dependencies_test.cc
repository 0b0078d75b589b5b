// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/dependencies.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/loader/plugin_files.h"
#include "tests/loader/sample_file.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kPlugins = BELAY_BAD_PLUGIN_DIR;

const Dependency* find(const std::vector<Dependency>& all, const std::string& name) {
  for (const Dependency& d : all)
    if (d.name == name) return &d;
  return nullptr;
}

TEST(Dependencies, OfAPluginAreFoundInTheSystem) {
  const auto all = walk_dependencies(sample_file(), "");
  for (const char* name : {"libc.so.6", "libstdc++.so.6"}) {
    const Dependency* d = find(all, name);
    ASSERT_NE(d, nullptr) << name;
    EXPECT_TRUE(std::filesystem::exists(d->path)) << d->path;
    EXPECT_EQ(d->problem, "");
  }
  EXPECT_EQ(find(all, "libstdc++.so.6")->wanted_by, std::vector<std::string>{sample_file()});
  EXPECT_THAT(missing_versions(sample_file(), ""), IsEmpty());
}

TEST(Dependencies, EachMissingOneComesWithItsChain) {
  const std::string plugin = kPlugins + "/missing_deps.so", middle = kPlugins + "/deps/found/libbelay_test_middle.so";
  const auto all = walk_dependencies(plugin, "/somewhere");
  EXPECT_EQ(find(all, "libbelay_test_middle.so")->path, middle);
  const Dependency* direct = find(all, "libbelay_test_absent.so");
  ASSERT_NE(direct, nullptr);
  EXPECT_EQ(direct->path, "");
  EXPECT_THAT(direct->wanted_by, ElementsAre(plugin));
  EXPECT_THAT(direct->searched,
              ElementsAre("/somewhere", kPlugins + "/deps/found", "the system's libraries (ld.so.cache)"));
  const Dependency* transitive = find(all, "libbelay_test_other_absent.so");
  ASSERT_NE(transitive, nullptr);
  EXPECT_EQ(transitive->path, "");
  EXPECT_THAT(transitive->wanted_by, ElementsAre(middle, plugin));
}

TEST(Dependencies, AreFoundInTheLibraryPath) {
  const auto all = walk_dependencies(kPlugins + "/missing_deps.so", "/somewhere:" + kPlugins + "/deps/absent");
  for (const Dependency& d : all) EXPECT_NE(d.path, "") << d.name;
}

TEST(Dependencies, ABrokenOneIsToldWithItsProblem) {
  const belay::testing::TemporaryFolder folder;
  folder.write("libbelay_test_absent.so", bytes_of(kPlugins + "/deps/absent/libbelay_test_absent.so").substr(0, 1000));
  const auto all = walk_dependencies(kPlugins + "/missing_dep.so", folder.path());
  const Dependency* d = find(all, "libbelay_test_absent.so");
  ASSERT_NE(d, nullptr);
  EXPECT_EQ(d->path, folder.file("libbelay_test_absent.so"));
  EXPECT_EQ(d->problem.rfind("is cut off: ", 0), 0u) << d->problem;
}

TEST(Dependencies, OneForAnotherMachineIsPassedOver) {
  const belay::testing::TemporaryFolder folder;
  const std::string name = "libbelay_test_absent.so", whole = bytes_of(kPlugins + "/deps/absent/" + name);
  folder.write(name, patched(whole, offsetof(Elf64_Ehdr, e_machine), std::uint16_t{EM_RISCV}));
  const auto all = walk_dependencies(kPlugins + "/missing_dep.so", folder.path() + ":" + kPlugins + "/deps/absent");
  EXPECT_EQ(find(all, name)->path, kPlugins + "/deps/absent/" + name);
}

TEST(Dependencies, AVersionThatTheLibraryFoundDoesNotHaveIsTold) {
  const auto missing = missing_versions(kPlugins + "/symbol_version.so", "");
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].library, "libbelay_test_versioned.so");
  EXPECT_EQ(missing[0].version, "BELAYTEST_3.10");
  EXPECT_EQ(missing[0].newest, "BELAYTEST_2");
  EXPECT_EQ(missing[0].wanted_by, kPlugins + "/symbol_version.so");
}

TEST(Dependencies, OfAFileThatCannotBeReadAreNone) {
  EXPECT_THAT(walk_dependencies("/nowhere/x.so", ""), IsEmpty());
  EXPECT_THAT(missing_versions("/nowhere/x.so", ""), IsEmpty());
}

}  // namespace
}  // namespace belay::runtime
