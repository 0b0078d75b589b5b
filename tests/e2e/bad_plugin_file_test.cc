// SPDX-License-Identifier: Apache-2.0
// A manifest that names a bad plugin file: exit status 3, the whole message, and no run directory.
#include <cstdlib>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

namespace fs = std::filesystem;

const std::string kBadPlugins = BELAY_BINARY_DIR "/tests/bad_plugins/plugins";

class BadPluginFile : public RunTest {
 protected:
  // A refusal names the searched folders.
  BadPluginFile() { ::unsetenv("LD_LIBRARY_PATH"); }
  // Runs with `file = "./x.so"`; returns the message.
  std::string run_with_hook_file() {
    const ProcessResult r = belay({"run", regression("", "[[hooks]]\nfile = \"./x.so\"\n")});
    EXPECT_EQ(r.status, 3) << r.err;
    EXPECT_EQ(r.out, "");
    EXPECT_FALSE(fs::exists(run_dir()));
    return told(r);
  }
  std::string run_with(const std::string& plugin) {
    fs::copy_file(kBadPlugins + "/" + plugin + ".so", temp / "x.so", fs::copy_options::overwrite_existing);
    return run_with_hook_file();
  }
  std::string run_with_bytes(const std::string& bytes) {
    write_file(temp / "x.so", bytes);
    return run_with_hook_file();
  }
  // "[B2010] truncated: ..." as it is printed.
  static std::string shown(const std::string& problem) {
    return "error" + problem.substr(0, 7) + ": " + problem.substr(8);
  }
  // The file's own bytes show these mistakes. They are found while the manifest is checked, so with the manifest's
  // line.
  static std::string in_manifest(const std::string& problem, const std::string& help) {
    return "DIR/train.toml:14:8: " + shown(problem) + "\n  file = \"./x.so\"\n         ^~~~~~~~\n  help: " + help +
           "\n";
  }
  // Only loading shows these mistakes, with the place of the hook.
  static std::string at_table(const std::string& problem, const std::string& help) {
    return "DIR/train.toml:13:1: " + shown(problem) + "\n  [[hooks]]\n  ^~~~~~~~~\n  help: " + help + "\n";
  }
};

TEST_F(BadPluginFile, TheSameCopyOfAGoodOneRuns) {
  fs::copy_file(kBadPlugins + "/minimal.so", temp / "x.so");
  const ProcessResult r = belay({"run", regression("", "[[hooks]]\nfile = \"./x.so\"\n")});
  EXPECT_EQ(r.status, 0) << r.err;
}

TEST_F(BadPluginFile, OneThatIsNotThereIsNamedByThePathThatWasTried) {
  EXPECT_EQ(run_with_hook_file(), in_manifest("[B2001] not_found: 'DIR/x.so' does not exist",
                                              "check the path; in a manifest it is relative to the manifest"));
}

TEST_F(BadPluginFile, OneThatIsADirectoryIsSaidToBeThat) {
  fs::create_directory(temp / "x.so");
  EXPECT_EQ(run_with_hook_file(),
            in_manifest("[B2003] not_regular: 'DIR/x.so' is a directory, not a file", "give the .so file of a plugin"));
}

TEST_F(BadPluginFile, OneThatIsNoElfFileIsRefused) {
  const std::string help = "give the .so file of a plugin";
  EXPECT_EQ(run_with_bytes(""),
            in_manifest("[B2005] not_elf: 'DIR/x.so' is too short for a shared library: 0 bytes", help));
  EXPECT_EQ(run_with_bytes("not a library"),
            in_manifest("[B2005] not_elf: 'DIR/x.so' is too short for a shared library: 13 bytes", help));
  EXPECT_EQ(run_with_bytes("#!/bin/sh\n" + std::string(200, '#')),
            in_manifest("[B2005] not_elf: 'DIR/x.so' is no ELF file", help));
}

TEST_F(BadPluginFile, OneThatIsAProgramIsRefused) {
  fs::copy_file(tested_belay(), temp / "x.so");
  EXPECT_EQ(run_with_hook_file(),
            in_manifest("[B2008] executable: 'DIR/x.so' is a program (position-independent), not a shared library",
                        "build a shared library with belay_add_plugin, or with -shared -fPIC"));
}

TEST_F(BadPluginFile, OneThatEverybodyCanReplaceIsRefused) {
  fs::copy_file(kBadPlugins + "/minimal.so", temp / "x.so");
  fs::permissions(temp / "x.so", fs::perms::others_write, fs::perm_options::add);
  EXPECT_EQ(run_with_hook_file(),
            in_manifest("[B2004] insecure: 'DIR/x.so' can be written by everybody", "chmod o-w 'DIR/x.so'"));
}

TEST_F(BadPluginFile, OneThatIsCutOffIsToldWithTheSizesThatShowIt) {
  const std::string whole = contents(kBadPlugins + "/minimal.so");
  const std::string said = run_with_bytes(whole.substr(0, whole.size() / 3));
  const std::string size = std::to_string(whole.size() / 3);
  // How long the compiler made the segment is its own affair.
  EXPECT_THAT(said, ::testing::MatchesRegex(
                        "DIR/train.toml:14:8: error.B2010.: truncated: 'DIR/x.so' is cut off: a segment ends "
                        "at byte [0-9]+, the file has " +
                        size +
                        "\n  file = \"./x.so\"\n         .~~~~~~~~?\n  help: copy it or build it "
                        "again; is the disk full\\?\n"));
}

TEST_F(BadPluginFile, WhatItsNoteShowsIsFoundWithTheManifestsLine) {
  const struct {
    const char* plugin;
    std::string problem, help;
  } cases[] = {
      {"no_note", "[B2012] no_note: 'DIR/x.so' is a shared library, but no plugin: it has no BELAY note",
       "does its source have a BELAY_MODULE line? were notes removed with objcopy?"},
      {"note_without_abi", "[B2012] no_note: 'DIR/x.so' has a corrupt note: \"abi\" is missing", "build it again"},
      {"note_without_plugins", "[B2012] no_note: 'DIR/x.so' has a corrupt note: \"plugins\" is empty",
       "build it again"},
      {"abi_major", "[B2013] abi_major: 'DIR/x.so' is built for ABI 7.0, this host has ABI 0.4",
       "rebuild it with the SDK of this host, or update the host to ABI 7.0"},
      {"abi_minor", "[B2014] abi_minor: 'DIR/x.so' needs ABI 0.99, this host has 0.4 (before 1.0 they must be equal)",
       "rebuild it with the SDK of this host, or update the host to ABI 0.99"},
      {"isa",
       "[B2015] isa: 'DIR/x.so' is compiled for instructions that this processor lacks: sse2_of_the_future, avx9",
       "rebuild it without -march=native, or with -march=x86-64-v2"},
  };
  for (const auto& c : cases) EXPECT_EQ(run_with(c.plugin), in_manifest(c.problem, c.help)) << c.plugin;
}

TEST_F(BadPluginFile, AModuleThatBreaksARuleIsRefusedByTheFieldsName) {
  const std::string fill = "fill the module as abi.h describes, or let BELAY_MODULE do it";
  const std::string again = "build it again; was the file edited or replaced?";
  const struct {
    const char* plugin;
    std::string problem, help;
  } cases[] = {
      {"hidden_module", "[B2021] bad_module: 'DIR/x.so' has a plugin's note, but does not export belay_module_v0",
       "build it with belay_add_plugin; does a version script or -fvisibility hide the symbol?"},
      {"wrong_magic",
       "[B2021] bad_module: 'DIR/x.so' has a bad belay_module_v0: magic is 0x1122334455667788, must be "
       "0x003079616c6562b3",
       fill},
      {"struct_size_0",
       "[B2021] bad_module: 'DIR/x.so' has a bad belay_module_v0: struct_size is 0, must be at least 64", fill},
      {"null_table", "[B2021] bad_module: 'DIR/x.so' has a bad belay_module_v0: plugins[0].table is null", fill},
      {"no_create",
       "[B2021] bad_module: 'DIR/x.so' has a bad belay_module_v0: the table of hook \"minimal\" (struct_size 112) "
       "lacks the "
       "mandatory slot create",
       fill},
      {"module_abi",
       "[B2022] stale: 'DIR/x.so' has a note that is not its module's: the note has ABI 0.4, the module 0.5", again},
      {"other_note",
       "[B2022] stale: 'DIR/x.so' has a note that is not its module's: the module points at another note than the "
       "file's",
       again},
  };
  for (const auto& c : cases) EXPECT_EQ(run_with(c.plugin), at_table(c.problem, c.help)) << c.plugin;
}

TEST_F(BadPluginFile, T_31g_WhatTheDynamicLinkerRefusesIsToldWithTheManifestsLineAndItsFix) {
  // A plugin takes its libraries from here.
  fs::copy(kBadPlugins + "/deps", temp / "deps", fs::copy_options::recursive);
  const std::string rpath = ", set LD_LIBRARY_PATH, or link the plugin with -Wl,-rpath,DIRECTORY; searched: ";
  const struct {
    const char* plugin;
    std::string problem, help;
  } cases[] = {
      {"missing_dep",
       "[B2016] missing_dep: 'DIR/x.so' needs what cannot be loaded: libbelay_test_absent.so (wanted by DIR/x.so)",
       "install it" + rpath + "the system's libraries (ld.so.cache)"},
      {"missing_deps",
       "[B2016] missing_dep: 'DIR/x.so' needs what cannot be loaded: libbelay_test_absent.so (wanted by DIR/x.so), "
       "libbelay_test_other_absent.so (wanted by DIR/deps/found/libbelay_test_middle.so, wanted by DIR/x.so)",
       "install them" + rpath + "DIR/deps/found, the system's libraries (ld.so.cache)"},
      {"undefined_symbol",
       "[B2018] undefined: 'DIR/x.so' uses the symbol `trainer::step(std::__cxx11::basic_string<char, "
       "std::char_traits<char>, "
       "std::allocator<char> > const&)`, which nothing defines",
       "link the library that has it; build with -Wl,-z,defs (belay_add_plugin does) to see this when linking"},
      {"symbol_version",
       "[B2017] symbol_version: 'DIR/x.so' needs a newer system: BELAYTEST_3.10 of libbelay_test_versioned.so, which "
       "offers up "
       "to BELAYTEST_2",
       "build it on this system or an older one"},
      {"static_tls", "[B2019] static_tls: 'DIR/x.so' finds no room for its initial-exec thread-local storage",
       "build it without -ftls-model=initial-exec, or set GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384"},
  };
  for (const auto& c : cases) EXPECT_EQ(run_with(c.plugin), at_table(c.problem, c.help)) << c.plugin;
}

TEST_F(BadPluginFile, T_128_CheckShowsWhatLoadingFindsAsItShowsOtherMistakes) {
  fs::copy_file(kBadPlugins + "/undefined_symbol.so", temp / "x.so");
  const std::string manifest = regression("", "[[hooks]]\nfile = \"./x.so\"\n");
  const ProcessResult check = belay({"check", manifest});
  EXPECT_EQ(check.status, 3);
  EXPECT_EQ(
      told(check).rfind("DIR/train.toml:13:1: error[B2018]: undefined: 'DIR/x.so' uses the symbol `trainer::step", 0),
      0u)
      << check.err;
  const ProcessResult json = belay({"check", manifest, "--diagnostics", "json"});
  EXPECT_EQ(json.status, 3);
  EXPECT_EQ(json.err.rfind("{\"file\":", 0), 0u) << json.err;
}

TEST_F(BadPluginFile, AnInitializerThatThrowsOrExitsEndsTheRunWithItsName) {
  EXPECT_EQ(run_with("throwing_initializer"),
            "error[B2040]: plugin 'DIR/x.so' failed in its own initializers while it was loaded: it threw "
            "std::runtime_error: no "
            "table.bin here\n  help: initializers of global objects must not throw\n");
  EXPECT_EQ(run_with("exiting_initializer"),
            "error[B2040]: plugin 'DIR/x.so' ended the process (exit status 0) while it was loaded\n"
            "  help: initializers of global objects must not call exit\n");
}

TEST_F(BadPluginFile, AnotherKindThanTheSectionWantsIsRefused) {
  fs::copy_file(kBadPlugins + "/minimal.so", temp / "x.so");
  const ProcessResult r =
      belay({"run", regression(), "--set", "model.plugin=\"minimal\"", "--set", "model.file=\"x.so\""});
  EXPECT_EQ(r.status, 3) << r.err;
  EXPECT_EQ(told(r),
            "--set model.plugin: error[B2026]: not_found: 'DIR/x.so' offers no model\n  model.plugin=\"minimal\"\n"
            "               ^~~~~~~~~\n  help: it offers hook \"minimal\"\n");
  EXPECT_FALSE(fs::exists(run_dir()));
}

TEST_F(BadPluginFile, AnOptionThatTheConstructorRefusesIsTheManifestsMistake) {
  fs::copy_file(kBadPlugins + "/throwing_constructor.so", temp / "x.so");
  const ProcessResult r = belay({"run", regression("", "[[hooks]]\nfile = \"./x.so\"\nalpha = 2\n")});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_EQ(told(r),
            "DIR/train.toml:15:9: error[B2045]: cannot create hook \"choosy\" (x.so 1.0.0) of 'DIR/x.so': alpha must "
            "lie in (0, "
            "1)\n  alpha = 2\n          ^\n");
  EXPECT_FALSE(fs::exists(run_dir()));
}

TEST_F(BadPluginFile, ExceptionsAndCodesThatNobodyMayGiveNameThePluginThatGaveThem) {
  fs::copy_file(kBadPlugins + "/misbehaving.so", temp / "x.so");
  const std::vector<std::string> stepped = {"attempts",      "checkpoint",         kEventFile,
                                            "lock",          "manifest-0001.toml", "manifest.toml",
                                            "metrics.jsonl", "model.ckpt-0",       "schema.json"};
  const struct {
    const char* fault;
    int status;
    std::string said;
    std::vector<std::string> made;
  } cases[] = {
      {"refuse", 2, "alpha must lie in (0, 1)", {}},
      {"no instance", 3, "it returned no instance (self is null)", {}},
      {"unknown code in create", 3, "what is this (unknown status code 4711)", {}},
      {"unknown code", 1, "in begin: minus three (unknown status code -3)", {}},
      {"escapes", 1, "in begin: two\\nlines \\x1b[31m and \\xff", {}},
      {"throw", 1,
       "in after_run at step 1: it let an exception escape, and is not called any more: std::runtime_error: boom",
       stepped},
  };
  for (const auto& c : cases) {
    fs::remove_all(run_dir());
    const ProcessResult r =
        belay({"run", regression("", std::string("[[hooks]]\nfile = \"./x.so\"\nfault = \"") + c.fault + "\"\n")});
    EXPECT_EQ(r.status, c.status) << r.err;
    const std::string level = std::string_view(c.fault) == "throw" ? "error[B2041]: " : "error[B2046]: ";
    const std::string expected =
        c.status == 1 ? level + "training ended with an error: hook \"misbehaving\" (x.so 0.9, train.toml:13) " + c.said
                      : std::string(c.status == 2 ? "DIR/train.toml:14:8: error[B2045]: "
                                                  : "error[B2046]: DIR/train.toml:13:1: ") +
                            "cannot create hook \"misbehaving\" (x.so 0.9) of 'DIR/x.so': " + c.said;
    EXPECT_THAT(lines_with(told(r), c.status == 2 ? "error[B2045]: " : level), ::testing::ElementsAre(expected));
    EXPECT_EQ(listing(run_dir()), c.made) << c.fault;
  }
}

}  // namespace
}  // namespace belay::runtime::testing
