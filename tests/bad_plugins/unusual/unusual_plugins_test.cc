// SPDX-License-Identifier: Apache-2.0
// Plugins that are not bad, but unusual: what each of them does to the others in one process.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "belay/testing/error_of.h"
#include "runtime/loader/file/dependencies.h"
#include "runtime/loader/instance/instance.h"
#include "tests/loader/plugin_files.h"
#include "tests/platform/fake_clock.h"

// Each plugin exports its module under the same name, and two of these see each other's.
// [AddressSanitizer]
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() {  // NOLINT
  return "detect_odr_violation=0";
}

namespace belay::runtime {
namespace {

using belay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kPlugins = BELAY_UNUSUAL_PLUGIN_DIR;

// A service of the host that fails by an exception inside, as all of them do.
struct FailingApi {
  std::int32_t (*fail)(belay_host* host, belay_status* status);
};
std::int32_t fail_inside(belay_host*, belay_status* status) {
  return detail::guard(status, [] { fail(Code::kDataLoss, "record 5 is damaged"); });
}
constexpr FailingApi kFailing{&fail_inside};

class UnusualPlugins : public ::testing::Test {
 protected:
  UnusualPlugins() { services_.add("failing", &kFailing); }
  const LoadedLibrary& load_file(const std::string& path) {
    const LoadedLibrary& library = loader_.load(path);
    registry_.add_loaded(library);
    return library;
  }
  const LoadedLibrary& load(const std::string& name) { return load_file(kPlugins + "/" + name + ".so"); }
  // The answer of the plugin in begin.
  std::string says(const std::string& name) {
    const LoadedLibrary& library = load(name);
    const RegisteredPlugin* plugin = registry_.find(PluginKind::kHook, "minimal", library.path);
    if (plugin == nullptr) return "not registered";
    ResolvedPlugin use;
    use.instance_name = "x";
    PluginInstance& hook = instances_.create(*plugin, use, services_, monitor_);
    const std::string said =
        error_of([&] { hook.call("begin", &belay_hook_api::begin, static_cast<belay_graph*>(nullptr)); });
    return replaced(said, "hook \"x\" of \"minimal\" (" + name + ".so 1.0.0) in begin: ", "");
  }
  static std::vector<std::string> told(const std::vector<std::string>& warnings) {
    std::vector<std::string> all;
    for (const std::string& w : warnings) all.push_back(replaced(w, kPlugins, "PLUGINS"));
    return all;
  }

  FilePolicy policy_;
  const CpuFeatures cpu_;
  Loader loader_{policy_, cpu_, ""};
  Registry registry_;
  RecordingLogger logger_;
  FakeClock clock_;
  HostServices services_{logger_, clock_, "", 1};
  CallMonitor monitor_;
  PluginInstances instances_;
};

TEST_F(UnusualPlugins, EachGetsTheVersionOfALibraryThatItWasLinkedWith) {
  EXPECT_EQ(says("version_1"), "ABORTED: libbelay_test_who.so.1 of versions");
  EXPECT_EQ(says("version_2"), "ABORTED: libbelay_test_who.so.2 of versions");
  EXPECT_THAT(loader_.warnings(), IsEmpty());
}

TEST_F(UnusualPlugins, OfTwoLibrariesOfOneNameTheFirstServesBothAndTheSecondPluginIsToldSo) {
  EXPECT_EQ(says("left"), "ABORTED: libbelay_test_twin.so of left");
  EXPECT_THAT(loader_.warnings(), IsEmpty());
  EXPECT_EQ(says("right"), "ABORTED: libbelay_test_twin.so of left");
  EXPECT_THAT(told(loader_.warnings()),
              ElementsAre("same_soname: plugin 'PLUGINS/right.so' gets libbelay_test_twin.so from "
                          "'PLUGINS/left/libbelay_test_twin.so', which was loaded before, and not from "
                          "'PLUGINS/right/libbelay_test_twin.so'; link it with the other one, or give its own another "
                          "SONAME"));
}

TEST_F(UnusualPlugins, T_153_ASymbolThatAnotherLibraryOfTheNameLacksIsExplainedByTheName) {
  EXPECT_EQ(says("left"), "ABORTED: libbelay_test_twin.so of left");
  const std::string error = replaced(error_of([&] { loader_.load(kPlugins + "/newer.so"); }), kPlugins, "PLUGINS");
  EXPECT_THAT(error,
              ::testing::HasSubstr("[B2016] missing_dep: 'PLUGINS/newer.so' uses the symbol `belay_test_newer`, which "
                                   "nothing defines; it gets libbelay_test_twin.so from "
                                   "'PLUGINS/left/libbelay_test_twin.so', which was loaded before, and not from "
                                   "'PLUGINS/newer/libbelay_test_twin.so'"));
}

TEST_F(UnusualPlugins, ALibraryOfTheSystemIsNotShadowed) {
  EXPECT_THAT(shadowed_dependencies(kPlugins + "/version_1.so", ""), IsEmpty());
  EXPECT_THAT(shadowed_dependencies("/nowhere/x.so", ""), IsEmpty());
}

TEST_F(UnusualPlugins, ASecondOpenMpRuntimeIsTold) {
  EXPECT_EQ(says("with_libomp"), "ABORTED: libomp.so.5 of openmp");
  const std::size_t before = loader_.warnings().size();  // another runtime may be in this program already
  EXPECT_EQ(says("with_libiomp5"), "ABORTED: libiomp5.so.5 of openmp");
  ASSERT_EQ(loader_.warnings().size(), before + 1);
  const std::string told_last = told(loader_.warnings()).back();
  EXPECT_THAT(told_last, HasSubstr("two_openmp: with plugin 'PLUGINS/with_libiomp5.so' this process has "));
  EXPECT_THAT(told_last, HasSubstr(" OpenMP runtimes, each with its own threads: "));
  // The list is sorted by path, and the path of the build may be before or after that of the system's libgomp.
  EXPECT_THAT(told_last, HasSubstr("PLUGINS/openmp/libiomp5.so.5"));
  EXPECT_THAT(told_last, HasSubstr("PLUGINS/openmp/libomp.so.5"));
  EXPECT_THAT(told_last, HasSubstr("; build all with one compiler's -fopenmp"));
  // One that brings no other hears nothing.
  load("no_exceptions");
  EXPECT_EQ(loader_.warnings().size(), before + 1);
}

TEST_F(UnusualPlugins, OfTwoFunctionsOfOneNameEachCallsItsOwn) {
  EXPECT_EQ(says("own_a"), "ABORTED: own a");
  EXPECT_EQ(says("own_b"), "ABORTED: own b");
  EXPECT_EQ(says("own_a"), "ABORTED: own a");
}

TEST_F(UnusualPlugins, StaticsOfInlineFunctionsAndTemplatesAreEachPluginsOwn) {
  EXPECT_EQ(says("counts_a"), "ABORTED: 1 and 1");
  EXPECT_EQ(says("counts_b"), "ABORTED: 1 and 1");
}

TEST_F(UnusualPlugins, StaticsThatAreExportedAreSharedSoTheVersionScriptIsNeeded) {
#if defined(__clang__)
  GTEST_SKIP() << "clang makes no unique symbols";
#endif
  EXPECT_EQ(says("exports_counts_a"), "ABORTED: 1 and 1");
  EXPECT_EQ(says("exports_counts_b"), "ABORTED: 2 and 2");
}

TEST_F(UnusualPlugins, T_22a_OneWhoseTablesTheDynamicLinkerMergedWithAnothersIsRefused) {
#if defined(__clang__)
  GTEST_SKIP() << "clang makes no unique symbols";
#endif
  EXPECT_EQ(says("default_class_a"), "ABORTED: class a");
  EXPECT_EQ(replaced(load_error_of([&] { load("default_class_b"); }), kPlugins, "PLUGINS"),
            "[B2021] bad_module: 'PLUGINS/default_class_b.so' has a bad belay_module_v0: plugins lies outside of the "
            "library, in "
            "'PLUGINS/default_class_a.so'\n"
            "  help: two libraries that export one symbol share it: compile both with -fvisibility=hidden (pkg-config "
            "--cflags belay-sdk has it), or build them with belay_add_plugin");
}

TEST_F(UnusualPlugins, T_22b_WithTheFlagsOfThePkgConfigFileEachHasItsOwnClass) {
  EXPECT_EQ(says("hidden_class_a"), "ABORTED: class a");
  EXPECT_EQ(says("hidden_class_b"), "ABORTED: class b");
}

TEST_F(UnusualPlugins, TwoThatNeedEachOtherAreLoadedOnceEach) {
  EXPECT_EQ(says("circle_red"), "ABORTED: circle black");
  EXPECT_EQ(says("circle_black"), "ABORTED: circle red");
  const auto all = walk_dependencies(kPlugins + "/circle_red.so", "");
  std::size_t circles = 0;
  for (const Dependency& d : all) circles += d.name.rfind("circle_", 0) == 0 ? 1 : 0;
  EXPECT_EQ(circles, 2u);  // the other one, and through it itself
}

TEST_F(UnusualPlugins, WithoutExceptionsTheHostsFailuresAreCodes) {
  EXPECT_EQ(says("no_exceptions"), "DATA_LOSS: record 5 is damaged");
}

TEST_F(UnusualPlugins, WithoutUnwindTablesTheHostsFailuresAreCodes) {
  EXPECT_EQ(says("no_unwind_tables"), "DATA_LOSS: record 5 is damaged");
}

TEST_F(UnusualPlugins, AnInitializerThatWaitsForAThreadThatLoadsALibraryIsTold) {
  // It hangs for ever. Once that is reported, the child ends itself, as a user would by Ctrl-C.
  const auto load_and_end = [] {
    std::thread([] {
      struct stat told {};
      while (::fstat(STDERR_FILENO, &told) == 0 && told.st_size == 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ::raise(SIGTERM);
    }).detach();
    FilePolicy policy;
    const CpuFeatures cpu;
    Loader(policy, cpu, "", std::chrono::milliseconds(50)).load(kPlugins + "/deadlock.so");
  };
  EXPECT_EXIT(load_and_end(), ::testing::KilledBySignal(SIGTERM),
              "^warning: plugin '.*/deadlock.so' is still being loaded after 0 s\n"
              "  help: initializers of global objects must not wait for a thread; SIGQUIT shows where it is\n$");
}

TEST_F(UnusualPlugins, WithoutSectionHeadersOneLoads) {
  const belay::testing::TemporaryFolder folder;
  std::string bytes = bytes_of(BELAY_BAD_PLUGIN_DIR "/minimal.so");
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  bytes.resize(header.e_shoff);
  header.e_shoff = 0;
  header.e_shnum = header.e_shstrndx = 0;
  EXPECT_EQ(load_file(folder.write("x.so", patched(bytes, 0, header))).info.plugins.size(), 1u);
}

TEST_F(UnusualPlugins, WithCompressedDebugSectionsOneLoads) {
  const belay::testing::TemporaryFolder folder;
  const std::string path = folder.write("x.so", bytes_of(BELAY_BAD_PLUGIN_DIR "/minimal.so"));
  if (std::system(("objcopy --compress-debug-sections '" + path + "' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "no objcopy here";
  EXPECT_EQ(load_file(path).info.plugins.size(), 1u);
}

TEST_F(UnusualPlugins, APathOfThousandsOfBytesLoads) {
  const belay::testing::TemporaryFolder folder;
  std::string directory = folder.path();
  while (directory.size() < 3800) directory += "/" + std::string(200, 'd');
  std::filesystem::create_directories(directory);
  const std::string path = directory + "/x.so";
  std::filesystem::copy_file(BELAY_BAD_PLUGIN_DIR "/minimal.so", path);
  EXPECT_EQ(load_file(path).info.plugins.size(), 1u);
}

TEST_F(UnusualPlugins, ABindMountOfOneIsTheSameOne) {
  const belay::testing::TemporaryFolder folder;
  const std::string path = folder.write("a.so", bytes_of(BELAY_BAD_PLUGIN_DIR "/minimal.so"));
  const std::string mounted = folder.write("b.so", "");
  if (::mount(path.c_str(), mounted.c_str(), "", MS_BIND, "") != 0) GTEST_SKIP() << "this user cannot mount";
  const LoadedLibrary& a = loader_.load(path);
  const LoadedLibrary& b = loader_.load(mounted);
  EXPECT_EQ(::umount2(mounted.c_str(), MNT_DETACH), 0);
  EXPECT_EQ(&a, &b);
}

}  // namespace
}  // namespace belay::runtime
