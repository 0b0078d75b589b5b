// SPDX-License-Identifier: Apache-2.0
// Every bad plugin, loaded: the whole message. Nothing here may crash, hang, or leave the process changed.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cfenv>
#include <clocale>
#include <cstdlib>

#include "runtime/loader/file/dependencies.h"
#include "runtime/loader/file/elf_file.h"
#include "runtime/loader/library/loader.h"
#include "runtime/loader/library/registry.h"
#include "tests/loader/plugin_files.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::ExitedWithCode;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string kPlugins = BELAY_BAD_PLUGIN_DIR;
const std::string kHost = machine_name(host_machine());

class BadPluginsTest : public ::testing::Test {
 protected:
  // The message, with the folders of the plugins and of the test written as PLUGINS and DIR.
  std::string load(const std::string& path) {
    return replaced(load_error_of([&] { registry_.add_loaded(loader_.load(path)); }, folder_.path()), kPlugins,
                    "PLUGINS");
  }
  std::string load_plugin(const std::string& name) { return load(kPlugins + "/" + name + ".so"); }

  belay::testing::TemporaryFolder folder_;
  FilePolicy policy_;
  const CpuFeatures cpu_;
  Loader loader_{policy_, cpu_, "/library/path"};
  Registry registry_;
};

TEST_F(BadPluginsTest, TheOneThatIsNotBadLoads) {
  EXPECT_EQ(load_plugin("minimal"), "");
  EXPECT_EQ(registry_.plugins().size(), 1u);
}

TEST_F(BadPluginsTest, ATableLongerThanTheHostKnowsLoads) { EXPECT_EQ(load_plugin("long_table"), ""); }

TEST_F(BadPluginsTest, EachNoteThatCannotBeUsedIsRefused) {
  const std::string rebuild = "\n  help: build it again";
  const struct {
    const char* plugin;
    std::string expected;
  } cases[] = {
      {"no_note",
       "[B2012] no_note: 'PLUGINS/no_note.so' is a shared library, but no plugin: it has no BELAY note\n"
       "  help: does its source have a BELAY_MODULE line? were notes removed with objcopy?"},
      {"note_is_no_json",
       "[B2012] no_note: 'PLUGINS/note_is_no_json.so' has a corrupt note: it is no JSON: "
       "[json.exception.parse_error.101] "
       "parse "
       "error at line 1, column 1: syntax error while parsing value - invalid literal; last read: 'p'" +
           rebuild},
      {"note_is_no_utf8",
       "[B2012] no_note: 'PLUGINS/note_is_no_utf8.so' has a corrupt note: it is no JSON: "
       "[json.exception.parse_error.101] "
       "parse "
       "error at line 1, column 114: syntax error while parsing value - invalid string: ill-formed UTF-8 byte; last "
       "read: '\"mini\\xff'" +
           rebuild},
      {"note_without_abi",
       "[B2012] no_note: 'PLUGINS/note_without_abi.so' has a corrupt note: \"abi\" is missing" + rebuild},
      {"note_without_plugins",
       "[B2012] no_note: 'PLUGINS/note_without_plugins.so' has a corrupt note: \"plugins\" is empty" + rebuild},
      {"note_with_bad_name",
       "[B2012] no_note: 'PLUGINS/note_with_bad_name.so' has a corrupt note: \"plugins.0.name\" is \"../Minimal\", "
       "must be "
       "[a-z][a-z0-9_-]{0,62} or VENDOR.NAME of such" +
           rebuild},
      {"note_repeats_plugin",
       "[B2012] no_note: 'PLUGINS/note_repeats_plugin.so' has a corrupt note: \"plugins.1\" repeats the hook "
       "\"minimal\"" +
           rebuild},
      {"note_with_bad_default",
       "[B2012] no_note: 'PLUGINS/note_with_bad_default.so' has a corrupt note: \"plugins.0.options.0.default\" must "
       "be a "
       "number" +
           rebuild},
      {"abi_major",
       "[B2013] abi_major: 'PLUGINS/abi_major.so' is built for ABI 7.0, this host has ABI 0.4\n"
       "  help: rebuild it with the SDK of this host, or update the host to ABI 7.0"},
      {"abi_minor",
       "[B2014] abi_minor: 'PLUGINS/abi_minor.so' needs ABI 0.99, this host has 0.4 (before 1.0 they must be equal)\n"
       "  help: rebuild it with the SDK of this host, or update the host to ABI 0.99"},
      {"isa",
       "[B2015] isa: 'PLUGINS/isa.so' is compiled for instructions that this processor lacks: sse2_of_the_future, "
       "avx9\n"
       "  help: rebuild it without -march=native, or with -march=x86-64-v2"},
  };
  for (const auto& c : cases) EXPECT_EQ(load_plugin(c.plugin), c.expected);
  EXPECT_THAT(registry_.plugins(), IsEmpty());
}

TEST_F(BadPluginsTest, WithoutANoteNoCodeIsRun) {
  load_plugin("no_note");
  EXPECT_EQ(std::getenv("BELAY_TEST_NO_NOTE_RAN"), nullptr);
}

TEST_F(BadPluginsTest, ALibraryOfTheSystemIsNoPlugin) {
  const std::vector<Dependency> system = walk_dependencies(kPlugins + "/throwing_constructor.so", "");
  ASSERT_FALSE(system.empty());
  EXPECT_EQ(load(system[0].path),
            "[B2012] no_note: '" + system[0].path +
                "' is a shared library, but no plugin: it has no BELAY note\n"
                "  help: does its source have a BELAY_MODULE line? were notes removed with objcopy?");
}

TEST_F(BadPluginsTest, EachModuleThatBreaksARuleIsRefusedByTheFieldsName) {
  const std::string fill = "\n  help: fill the module as abi.h describes, or let BELAY_MODULE do it";
  const std::string stale = "\n  help: build it again; was the file edited or replaced?";
  const auto bad = [&](const std::string& plugin, const std::string& reason) {
    return "[B2021] bad_module: 'PLUGINS/" + plugin + ".so' has a bad belay_module_v0: " + reason + fill;
  };
  const auto differs = [&](const std::string& plugin, const std::string& reason) {
    return "[B2022] stale: 'PLUGINS/" + plugin + ".so' has a note that is not its module's: " + reason + stale;
  };
  const struct {
    const char* plugin;
    std::string expected;
  } cases[] = {
      {"hidden_module",
       "[B2021] bad_module: 'PLUGINS/hidden_module.so' has a plugin's note, but does not export belay_module_v0\n"
       "  help: build it with belay_add_plugin; does a version script or -fvisibility hide the symbol?"},
      {"wrong_magic", bad("wrong_magic", "magic is 0x1122334455667788, must be 0x003079616c6562b3")},
      {"struct_size_0", bad("struct_size_0", "struct_size is 0, must be at least 64")},
      {"struct_size_4", bad("struct_size_4", "struct_size is 4, must be at least 64")},
      {"struct_size_max", bad("struct_size_max", "struct_size is 4294967295, must be at most 4096")},
      {"module_flags", bad("module_flags", "flags is 1, must be 0")},
      {"module_abi", differs("module_abi", "the note has ABI 0.4, the module 0.5")},
      {"null_note", bad("null_note", "note is null")},
      {"other_note", differs("other_note", "the module points at another note than the file's")},
      {"null_plugins", bad("null_plugins", "plugins is null")},
      {"too_many_plugins", differs("too_many_plugins", "its note lists 1 plugins, its module 4294967296")},
      {"null_plugin", bad("null_plugin", "plugins[0] is null")},
      {"null_name", bad("null_name", "plugins[0].name is null")},
      {"null_table", bad("null_table", "plugins[0].table is null")},
      {"other_name",
       differs("other_name", "the note's plugin 0 is the hook \"minimal\", the module's is \"maximal\" of kind 1")},
      {"other_kind",
       differs("other_kind", "the note's plugin 0 is the hook \"minimal\", the module's is \"minimal\" of kind 2")},
      {"short_table",
       bad("short_table", "the table of hook \"minimal\" (struct_size 4) lacks the mandatory slot create")},
      {"no_create",
       bad("no_create", "the table of hook \"minimal\" (struct_size 112) lacks the mandatory slot create")},
      {"no_destroy",
       bad("no_destroy", "the table of hook \"minimal\" (struct_size 20) lacks the mandatory slot destroy")},
      {"op_without_run",
       bad("op_without_run", "the table of op \"minimal\" (struct_size 80) lacks the mandatory slot run")},
  };
  for (const auto& c : cases) EXPECT_EQ(load_plugin(c.plugin), c.expected);
  EXPECT_THAT(registry_.plugins(), IsEmpty());
}

TEST_F(BadPluginsTest, T_22c_WhatTheModulePointsToIsItsOwnLibrarys) {
  const struct {
    const char* plugin;
    const char* field;
  } cases[] = {{"foreign_note", "note"},
               {"foreign_plugins", "plugins"},
               {"foreign_plugin", "plugins[0]"},
               {"foreign_name", "plugins[0].name"},
               {"foreign_table", "plugins[0].table"}};
  for (const auto& c : cases)
    EXPECT_THAT(load_plugin(c.plugin),
                StartsWith(std::string("[B2021] bad_module: 'PLUGINS/") + c.plugin +
                           ".so' has a bad belay_module_v0: " + c.field + " lies outside of the library, in "));
}

TEST_F(BadPluginsTest, T_28a_AFunctionOfTheModulesNameIsNotReadAsData) {
  EXPECT_EQ(load_plugin("module_is_function"),
            "[B2021] bad_module: 'PLUGINS/module_is_function.so' exports belay_module_v0 as a function, not as data\n"
            "  help: let BELAY_MODULE write it, or define `const belay_module belay_module_v0` as abi.h describes");
}

TEST_F(BadPluginsTest, T_28b_AModuleWhoseNameIsMangledGetsAHintAtExternC) {
  EXPECT_EQ(
      load_plugin("module_in_namespace"),
      "[B2021] bad_module: 'PLUGINS/module_in_namespace.so' exports `mine::belay_module_v0`, but not belay_module_v0\n"
      "  help: declare it extern \"C\" and outside of namespaces, so that its name is not mangled");
}

TEST_F(BadPluginsTest, T_31f_AnHtmlPageIsSaidToBeOne) {
  const std::string html =
      "[B2005] not_elf: 'DIR/x.so' is an HTML page, not a shared library\n"
      "  help: it was probably downloaded from an address that answered with an error page; download it again";
  EXPECT_EQ(load(folder_.write("x.so", "<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head></html>\n")),
            html);
  EXPECT_EQ(load(folder_.write("x.so", "\xef\xbb\xbf\r\n <HTML>no</HTML>")), html);
}

TEST_F(BadPluginsTest, AMissingLibraryIsNamedWithWhoWantsIt) {
  EXPECT_EQ(
      load_plugin("missing_dep"),
      "[B2016] missing_dep: 'PLUGINS/missing_dep.so' needs what cannot be loaded: libbelay_test_absent.so (wanted by "
      "PLUGINS/missing_dep.so)\n"
      "  help: install it, set LD_LIBRARY_PATH, or link the plugin with -Wl,-rpath,DIRECTORY; searched: "
      "/library/path, the system's libraries (ld.so.cache)");
}

TEST_F(BadPluginsTest, AllMissingLibrariesAreToldAtOnceWithTheirChains) {
  EXPECT_EQ(
      load_plugin("missing_deps"),
      "[B2016] missing_dep: 'PLUGINS/missing_deps.so' needs what cannot be loaded: libbelay_test_absent.so (wanted by "
      "PLUGINS/missing_deps.so), libbelay_test_other_absent.so (wanted by "
      "PLUGINS/deps/found/libbelay_test_middle.so, wanted by PLUGINS/missing_deps.so)\n"
      "  help: install them, set LD_LIBRARY_PATH, or link the plugin with -Wl,-rpath,DIRECTORY; searched: "
      "/library/path, PLUGINS/deps/found, the system's libraries (ld.so.cache)");
}

TEST_F(BadPluginsTest, ALibraryOfAnotherCLibraryIsSaidToBeThat) {
  EXPECT_EQ(load_plugin("musl"),
            "[B2016] missing_dep: 'PLUGINS/musl.so' needs what cannot be loaded: libc.musl-x86_64.so.1 (wanted by "
            "PLUGINS/musl.so)\n"
            "  help: it is built for another C library (musl); rebuild it for glibc; searched: /library/path, the "
            "system's libraries (ld.so.cache)");
}

TEST_F(BadPluginsTest, AnUndefinedSymbolIsDemangled) {
  EXPECT_EQ(load_plugin("undefined_symbol"),
            "[B2018] undefined: 'PLUGINS/undefined_symbol.so' uses the symbol "
            "`trainer::step(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const&)`, "
            "which nothing defines\n"
            "  help: link the library that has it; build with -Wl,-z,defs (belay_add_plugin does) to see this when "
            "linking");
}

TEST_F(BadPluginsTest, AMissingSymbolVersionIsToldWithTheNewestThereIs) {
  EXPECT_EQ(load_plugin("symbol_version"),
            "[B2017] symbol_version: 'PLUGINS/symbol_version.so' needs a newer system: BELAYTEST_3.10 of "
            "libbelay_test_versioned.so, which offers up to BELAYTEST_2\n"
            "  help: build it on this system or an older one");
}

TEST_F(BadPluginsTest, TooMuchStaticThreadLocalStorageIsRefused) {
  EXPECT_EQ(load_plugin("static_tls"),
            "[B2019] static_tls: 'PLUGINS/static_tls.so' finds no room for its initial-exec thread-local storage\n"
            "  help: build it without -ftls-model=initial-exec, or set GLIBC_TUNABLES=glibc.rtld.optional_static_tls="
            "16384");
}

TEST_F(BadPluginsTest, AThrowingInitializerEndsTheProcessWithItsName) {
  EXPECT_EXIT(load_plugin("throwing_initializer"), ExitedWithCode(3),
              "error\\[B2040\\]: plugin '.*/throwing_initializer.so' failed in its own initializers while it was "
              "loaded: it threw "
              "std::runtime_error: no table.bin here\n  help: initializers of global objects must not throw\n");
}

TEST_F(BadPluginsTest, AnInitializerThatExitsWithSuccessFailsTheRun) {
  EXPECT_EXIT(
      load_plugin("exiting_initializer"), ExitedWithCode(3),
      "error\\[B2040\\]: plugin '.*/exiting_initializer.so' ended the process \\(exit status 0\\) while it was loaded\n"
      "  help: initializers of global objects must not call exit\n");
}

TEST_F(BadPluginsTest, AFastMathPluginLoadsAndThreadsKeepTheirMode) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "-ffast-math sets no mode at load on this machine";
#endif
  const LoadedLibrary& library = loader_.load(kPlugins + "/fast_math.so");
  volatile double smallest = 2.2250738585072014e-308;
  EXPECT_NE(smallest / 2, 0) << "subnormals are flushed to zero";
  EXPECT_THAT(
      library.warnings,
      ElementsAre("fp_mode: loading plugin '" + kPlugins +
                  "/fast_math.so' changed the floating-point mode (flush-to-zero) of this thread, which was put "
                  "back; relink it without -ffast-math"));
}

TEST_F(BadPluginsTest, ALocaleAndRoundingThatAPluginChangesArePutBack) {
  const LoadedLibrary& library = loader_.load(kPlugins + "/changes_locale.so");
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  EXPECT_STREQ(std::setlocale(LC_ALL, nullptr), "C");
  ASSERT_EQ(library.warnings.size(), 2u);
  EXPECT_THAT(library.warnings[0], HasSubstr("changed the floating-point mode (rounding"));
  EXPECT_EQ(library.warnings[1], "locale: loading plugin '" + kPlugins +
                                     "/changes_locale.so' changed the locale, which was put back; initializers of "
                                     "global objects must not set it");
}

TEST_F(BadPluginsTest, AHandlerOfALibraryThatAPluginNeedsIsPutBackAndThePluginsOwnStays) {
  struct sigaction hangup {
  }, user{}, now{};
  ::sigaction(SIGHUP, nullptr, &hangup);
  ::sigaction(SIGUSR1, nullptr, &user);
  EXPECT_THAT(loader_.load(kPlugins + "/handler_of_dependency.so").warnings, IsEmpty());
  ::sigaction(SIGHUP, nullptr, &now);
  EXPECT_EQ(now.sa_handler, hangup.sa_handler);
  ::sigaction(SIGUSR1, nullptr, &now);
  EXPECT_NE(now.sa_handler, user.sa_handler) << "a runtime inside a plugin needs its handlers";
  ::sigaction(SIGUSR1, &user, nullptr);
}

TEST_F(BadPluginsTest, WhatIsNoFileIsRefusedAtOnce) {
  ASSERT_EQ(::mkfifo(folder_.file("pipe.so").c_str(), 0644), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  folder_.file("socket.so").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(socket);
  std::filesystem::create_symlink("loop.so", folder_.file("loop.so"));
  std::filesystem::create_symlink("gone.so", folder_.file("dangling.so"));
  const std::string give = ", not a file\n  help: give the .so file of a plugin";
  const std::string path = "\n  help: check the path; in a manifest it is relative to the manifest";
  EXPECT_EQ(load(folder_.path()), "[B2003] not_regular: 'DIR' is a directory" + give);
  EXPECT_EQ(load(folder_.file("pipe.so")), "[B2003] not_regular: 'DIR/pipe.so' is a FIFO" + give);
  EXPECT_EQ(load(folder_.file("socket.so")), "[B2003] not_regular: 'DIR/socket.so' is a socket" + give);
  EXPECT_EQ(load("/dev/zero"), "[B2003] not_regular: '/dev/zero' is a device" + give);
  EXPECT_EQ(load(folder_.file("none.so")), "[B2001] not_found: 'DIR/none.so' does not exist" + path);
  EXPECT_EQ(load(kPlugins + "/minimal.so/x.so"),
            "[B2001] not_found: 'PLUGINS/minimal.so/x.so' does not exist: a part of its path is no directory" + path);
  EXPECT_EQ(load(folder_.file("loop.so")),
            "[B2001] not_found: 'DIR/loop.so' cannot be opened: too many levels of symbolic links" + path);
  EXPECT_EQ(load(folder_.file("dangling.so")),
            "[B2001] not_found: 'DIR/dangling.so' is a symbolic link to 'gone.so', which does not exist" + path);
  if (::geteuid() != 0) {
    const std::string secret = folder_.write("secret.so", "");
    ASSERT_EQ(::chmod(secret.c_str(), 0), 0);
    EXPECT_EQ(load(secret),
              "[B2002] unreadable: 'DIR/secret.so' cannot be opened: Permission denied\n"
              "  help: give this user the right to read it (chmod, chown)");
  }
}

TEST_F(BadPluginsTest, OtherProductsOfACompilerAreRefused) {
  const std::string build = "\n  help: build a shared library with belay_add_plugin, or with -shared -fPIC";
  EXPECT_EQ(load(folder_.write("x.so", bytes_of(BELAY_ARCHIVE))),
            "[B2006] archive: 'DIR/x.so' is a static library (.a), not a shared library" + build);
  EXPECT_EQ(load(folder_.write("x.so", bytes_of(BELAY_OBJECT))),
            "[B2007] object: 'DIR/x.so' is an object file (.o), not a shared library" + build);
  EXPECT_EQ(load(folder_.write("x.so", bytes_of(BELAY_PIE_PROGRAM))),
            "[B2008] executable: 'DIR/x.so' is a program (position-independent), not a shared library" + build);
  EXPECT_EQ(load(folder_.write("x.so", bytes_of(BELAY_STATIC_PROGRAM))),
            "[B2008] executable: 'DIR/x.so' is a program, not a shared library" + build);
}

TEST_F(BadPluginsTest, SpoiltCopiesAreRefused) {
  const std::string whole = bytes_of(kPlugins + "/minimal.so");
  EXPECT_THAT(load(folder_.write("x.so", whole.substr(0, whole.size() / 3))),
              HasSubstr("[B2010] truncated: 'DIR/x.so' is cut off: a segment ends at byte "));
  EXPECT_EQ(load(folder_.write("x.so", patched(whole, offsetof(Elf64_Ehdr, e_machine), std::uint16_t{EM_S390}))),
            "[B2009] wrong_machine: 'DIR/x.so' is built for s390, this host is " + kHost + "\n  help: rebuild it for " +
                kHost);
  const std::size_t note = whole.find(std::string("BELAY\0\0\0{", 9));
  ASSERT_NE(note, std::string::npos);
  EXPECT_EQ(load(folder_.write("x.so", patched(whole, note, 'b'))),
            "[B2012] no_note: 'DIR/x.so' is a shared library, but no plugin: it has no BELAY note\n"
            "  help: does its source have a BELAY_MODULE line? were notes removed with objcopy?");
  // The note has name size, content size and type before the name.
  EXPECT_EQ(load(folder_.write("x.so", patched(whole, note - 8, std::uint32_t{0xfffffff0}))),
            "[B2012] no_note: 'DIR/x.so' has a corrupt note: by its header it is longer than its segment\n  help: "
            "build it again");
  EXPECT_EQ(
      load(folder_.write("x.so", patched(whole, whole.find("minimal\""), 'w'))),
      "[B2022] stale: 'DIR/x.so' has a note that is not its module's: the note's plugin 0 is the hook \"winimal\", the "
      "module's is \"minimal\" of kind 1\n  help: build it again; was the file edited or replaced?");
}

TEST_F(BadPluginsTest, AWorldWritablePlaceIsRefused) {
  const std::string path = folder_.write("x.so", bytes_of(kPlugins + "/minimal.so"));
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  EXPECT_EQ(load(path), "[B2004] insecure: 'DIR/x.so' can be written by everybody\n  help: chmod o-w 'DIR/x.so'");
}

TEST_F(BadPluginsTest, ANoexecFileSystemIsNamed) {
  if (::mount("none", folder_.path().c_str(), "tmpfs", MS_NOEXEC, "mode=0755") != 0)
    GTEST_SKIP() << "this user cannot mount a file system";
  EXPECT_EQ(load(folder_.write("x.so", bytes_of(kPlugins + "/minimal.so"))),
            "[B2020] load_failed: 'DIR/x.so' lies on a file system that is mounted noexec\n"
            "  help: put it elsewhere, or mount that file system with exec");
  // The dynamic linker keeps a part of what it could not map, so that the file is in use.
  EXPECT_EQ(::umount2(folder_.path().c_str(), MNT_DETACH), 0);
}

TEST_F(BadPluginsTest, AFailureLeavesTheOthersUsable) {
  EXPECT_NE(load_plugin("wrong_magic"), "");
  EXPECT_NE(load_plugin("missing_dep"), "");
  EXPECT_EQ(load_plugin("minimal"), "");
  EXPECT_NE(registry_.find(PluginKind::kHook, "minimal"), nullptr);
}

TEST_F(BadPluginsTest, NoDescriptorIsLeaked) {
  const auto open_files = [] {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++n;
    return n;
  };
  const char* const plugins[] = {"no_note", "wrong_magic", "missing_deps", "symbol_version", "isa"};
  for (const char* plugin : plugins) load_plugin(plugin);
  const std::size_t before = open_files();
  for (int i = 0; i < 20; ++i)
    for (const char* plugin : plugins) load_plugin(plugin);
  EXPECT_EQ(open_files(), before);
}

}  // namespace
}  // namespace belay::runtime
