// SPDX-License-Identifier: Apache-2.0
// `belay validate` on every plugin of tests/bad_plugins: each fails, in the words of its fault.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "runtime/validate/validate.h"

namespace belay::runtime {
namespace {

namespace fs = std::filesystem;

const std::string kPlugins = BELAY_BAD_PLUGIN_DIR;

// The first check that failed: "load.file: message up to the line's end"; empty: none did.
std::string first_failure(const std::string& name, const std::vector<std::string>& sets = {}) {
  std::string found;
  validate(kPlugins + "/" + name + ".so", {.sets = sets, .seconds = 60}, [&](const CheckResult& r) {
    if (r.verdict == Verdict::kFailed && found.empty()) found = r.check + ": " + r.text.substr(0, r.text.find('\n'));
  });
  for (std::size_t at = 0; (at = found.find(kPlugins, at)) != std::string::npos;)
    found.replace(at, kPlugins.size(), "P");
  return found;
}

TEST(ValidateBadPlugins, EachFailsInTheWordsOfItsFault) {
  const std::map<std::string, std::string> expected = {
      {"abi_major", "load.file: [B2013] abi_major: 'P/abi_major.so' is built for ABI 7.0, this host has ABI 0.4"},
      {"abi_minor",
       "load.file: [B2014] abi_minor: 'P/abi_minor.so' needs ABI 0.99, this host has 0.4 (before 1.0 they must be "
       "equal)"},
      {"changes_its_file", ""},
      {"changes_locale",
       "load.opens: fp_mode: loading plugin 'P/changes_locale.so' changed the floating-point mode (rounding, x87 "
       "control word) of this thread, which was put back; relink it without -ffast-math"},
      {"exiting_initializer",
       "load.opens: ended the process with status 3: error[B2040]: plugin 'P/exiting_initializer.so' ended the process "
       "(exit "
       "status 0) while it was loaded\\n  help: initializers of global objects must not call exit\\n"},
      {"fast_math",
       "load.opens: fp_mode: loading plugin 'P/fast_math.so' changed the floating-point mode (flush-to-zero) of this "
       "thread, which was put back; relink it without -ffast-math"},
      {"foreign_name",
       "load.opens: [B2021] bad_module: 'P/foreign_name.so' has a bad belay_module_v0: plugins[0].name lies"},
      {"foreign_note",
       "load.opens: [B2021] bad_module: 'P/foreign_note.so' has a bad belay_module_v0: note lies outside of"},
      {"foreign_plugin",
       "load.opens: [B2021] bad_module: 'P/foreign_plugin.so' has a bad belay_module_v0: plugins[0] lies"},
      {"foreign_plugins",
       "load.opens: [B2021] bad_module: 'P/foreign_plugins.so' has a bad belay_module_v0: plugins lies"},
      {"foreign_table",
       "load.opens: [B2021] bad_module: 'P/foreign_table.so' has a bad belay_module_v0: plugins[0].table lies"},
      {"handler_of_dependency",
       "load.opens: changed the handler of signal 10 (User defined signal 1); a plugin leaves the process as it was"},
      {"hidden_module",
       "load.opens: [B2021] bad_module: 'P/hidden_module.so' has a plugin's note, but does not export belay_module_v0"},
      {"isa",
       "load.file: [B2015] isa: 'P/isa.so' is compiled for instructions that this processor lacks: sse2_of_the_future, "
       "avx9"},
      {"long_table", ""},
      {"minimal", ""},
      {"misbehaving", ""},
      {"misbehaving_op", ""},
      {"missing_dep",
       "load.opens: [B2016] missing_dep: 'P/missing_dep.so' needs what cannot be loaded: libbelay_test_absent.so "
       "(wanted by "
       "P/missing_dep.so)"},
      {"missing_deps",
       "load.opens: [B2016] missing_dep: 'P/missing_deps.so' needs what cannot be loaded: libbelay_test_absent.so "
       "(wanted by P/missing_deps.so), libbelay_test_other_absent.so (wanted by P/deps/found/libbelay_test_middle.so, "
       "wanted by P/missing_deps.so)"},
      {"module_abi",
       "load.opens: [B2022] stale: 'P/module_abi.so' has a note that is not its module's: the note has ABI 0.4, the "
       "module 0.5"},
      {"module_in_namespace", "load.linked: exports 1 symbol (mine::belay_module_v0) besides belay_module_v0, "},
      {"module_is_function",
       "load.opens: [B2021] bad_module: 'P/module_is_function.so' exports belay_module_v0 as a function, not as data"},
      {"module_flags",
       "load.opens: [B2021] bad_module: 'P/module_flags.so' has a bad belay_module_v0: flags is 1, must be 0"},
      {"musl",
       "load.opens: [B2016] missing_dep: 'P/musl.so' needs what cannot be loaded: libc.musl-x86_64.so.1 (wanted by "
       "P/musl.so)"},
      {"no_create",
       "load.opens: [B2021] bad_module: 'P/no_create.so' has a bad belay_module_v0: the table of hook \"minimal\" "
       "(struct_size "
       "112) lacks the mandatory slot create"},
      {"no_destroy",
       "load.opens: [B2021] bad_module: 'P/no_destroy.so' has a bad belay_module_v0: the table of hook \"minimal\" "
       "(struct_size 20) lacks the mandatory slot destroy"},
      {"no_note",
       "load.file: [B2012] no_note: 'P/no_note.so' is a shared library, but no plugin: it has no BELAY note"},
      {"note_is_no_json",
       "load.file: [B2012] no_note: 'P/note_is_no_json.so' has a corrupt note: it is no JSON: "
       "[json.exception.parse_error.101] "
       "parse error at line 1, column 1: syntax error while parsing value - invalid literal; last read: 'p'"},
      {"note_is_no_utf8",
       "load.file: [B2012] no_note: 'P/note_is_no_utf8.so' has a corrupt note: it is no JSON: "
       "[json.exception.parse_error.101] "
       "parse error at line 1, column 114: syntax error while parsing value - invalid string: ill-formed UTF-8 byte; "
       "last read: '\"mini\\xff'"},
      {"note_repeats_plugin",
       "load.file: [B2012] no_note: 'P/note_repeats_plugin.so' has a corrupt note: \"plugins.1\" repeats the hook "
       "\"minimal\""},
      {"note_with_bad_default",
       "load.file: [B2012] no_note: 'P/note_with_bad_default.so' has a corrupt note: \"plugins.0.options.0.default\" "
       "must be a "
       "number"},
      {"note_with_bad_name",
       "load.file: [B2012] no_note: 'P/note_with_bad_name.so' has a corrupt note: \"plugins.0.name\" is "
       "\"../Minimal\", must "
       "be [a-z][a-z0-9_-]{0,62} or VENDOR.NAME of such"},
      {"note_with_unknown_kind",
       "load.file: [B2023] unusable: 'P/note_with_unknown_kind.so' offers the hooks \"minimal\", which this host "
       "cannot use: "
       "\"plugins.0.kind\" is \"hooks\", this host knows: hook, saver, init_fn, model, input, op, optimizer, schedule, "
       "exporter, cluster"},
      {"note_without_abi",
       "load.file: [B2012] no_note: 'P/note_without_abi.so' has a corrupt note: \"abi\" is missing"},
      {"note_without_plugins",
       "load.file: [B2012] no_note: 'P/note_without_plugins.so' has a corrupt note: \"plugins\" is empty"},
      {"null_name",
       "load.opens: [B2021] bad_module: 'P/null_name.so' has a bad belay_module_v0: plugins[0].name is null"},
      {"null_note", "load.opens: [B2021] bad_module: 'P/null_note.so' has a bad belay_module_v0: note is null"},
      {"null_plugin",
       "load.opens: [B2021] bad_module: 'P/null_plugin.so' has a bad belay_module_v0: plugins[0] is null"},
      {"null_plugins",
       "load.opens: [B2021] bad_module: 'P/null_plugins.so' has a bad belay_module_v0: plugins is null"},
      {"null_table",
       "load.opens: [B2021] bad_module: 'P/null_table.so' has a bad belay_module_v0: plugins[0].table is null"},
      {"op_without_run",
       "load.opens: [B2021] bad_module: 'P/op_without_run.so' has a bad belay_module_v0: the table of op \"minimal\" "
       "(struct_size 80) lacks the mandatory slot run"},
      {"other_kind",
       "load.opens: [B2022] stale: 'P/other_kind.so' has a note that is not its module's: the note's plugin 0 is the "
       "hook "
       "\"minimal\", the module's is \"minimal\" of kind 2"},
      {"other_name",
       "load.opens: [B2022] stale: 'P/other_name.so' has a note that is not its module's: the note's plugin 0 is the "
       "hook "
       "\"minimal\", the module's is \"maximal\" of kind 1"},
      {"other_note",
       "load.opens: [B2022] stale: 'P/other_note.so' has a note that is not its module's: the module points at another "
       "note "
       "than the file's"},
      {"short_table",
       "load.opens: [B2021] bad_module: 'P/short_table.so' has a bad belay_module_v0: the table of hook \"minimal\" "
       "(struct_size 4) lacks the mandatory slot create"},
      {"static_tls",
       "load.linked: takes static thread-local storage, of which a process has little; rebuild it without "
       "-ftls-model=initial-exec"},
      {"struct_size_0",
       "load.opens: [B2021] bad_module: 'P/struct_size_0.so' has a bad belay_module_v0: struct_size is 0, must be at "
       "least 64"},
      {"struct_size_4",
       "load.opens: [B2021] bad_module: 'P/struct_size_4.so' has a bad belay_module_v0: struct_size is 4, must be at "
       "least 64"},
      {"struct_size_max",
       "load.opens: [B2021] bad_module: 'P/struct_size_max.so' has a bad belay_module_v0: struct_size is 4294967295, "
       "must be "
       "at most 4096"},
      {"symbol_version",
       "load.opens: [B2017] symbol_version: 'P/symbol_version.so' needs a newer system: BELAYTEST_3.10 of "
       "libbelay_test_versioned.so, which offers up to BELAYTEST_2"},
      {"throwing_constructor", ""},
      {"throwing_initializer",
       "load.opens: ended the process with status 3: error[B2040]: plugin 'P/throwing_initializer.so' failed in its "
       "own "
       "initializers while it was loaded: it threw std::runtime_error: no table.bin here\\n  help: initializers of "
       "global objects must not throw\\n"},
      {"too_many_plugins",
       "load.opens: [B2022] stale: 'P/too_many_plugins.so' has a note that is not its module's: its note lists 1 "
       "plugins, its "
       "module 4294967296"},
      {"undefined_symbol",
       "load.opens: [B2018] undefined: 'P/undefined_symbol.so' uses the symbol "
       "`trainer::step(std::__cxx11::basic_string<char, "
       "std::char_traits<char>, std::allocator<char> > const&)`, which nothing defines"},
      {"wrong_magic",
       "load.opens: [B2021] bad_module: 'P/wrong_magic.so' has a bad belay_module_v0: magic is 0x1122334455667788, "
       "must be "
       "0x003079616c6562b3"},
  };
  std::set<std::string> untold;
  for (const auto& entry : fs::directory_iterator(kPlugins)) {
    if (entry.path().extension() != ".so") continue;
    const std::string name = entry.path().stem();
    const std::string failure = first_failure(name);
    const auto it = expected.find(name);
    // Nothing is expected of what is no fault of the library's: minimal, long_table, misbehaving and
    // misbehaving_op without a fault.
    if (it == expected.end())
      untold.insert(name + " | " + failure);
    else
      EXPECT_EQ(it->second.empty() ? failure : failure.substr(0, it->second.size()), it->second)
          << name << ": " << failure;
  }
  EXPECT_EQ(untold, std::set<std::string>{});
}

TEST(ValidateBadPlugins, AnInitializerThatHangsIsEnded) {
  std::string failure;
  validate(BELAY_UNUSUAL_PLUGIN_DIR "/deadlock.so", {.seconds = 3}, [&](const CheckResult& r) {
    if (r.verdict == Verdict::kFailed && failure.empty()) failure = r.check + ": " + r.text;
  });
  EXPECT_EQ(failure, "load.opens: did not end within 3 s");
}

TEST(ValidateBadPlugins, OptionsThatAConstructorRefusesAreTold) {
  EXPECT_EQ(first_failure("throwing_constructor", {"alpha=2"}),
            "create.options: create failed: INVALID_ARGUMENT: alpha must lie in (0, 1)");
}

TEST(ValidateBadPlugins, AHookWithoutTheSdksBarrierIsFoundOut) {
  struct Case {
    const char* fault;
    const char* expected;
  };
  for (const Case& c :
       {Case{"throw in create",
             "create.options: let an exception escape through the C boundary: alpha must lie in (0, 1); build it on "
             "the SDK, whose callbacks turn exceptions into errors"},
        Case{"unknown code in create", "create.options: create returned 4711, which is no code of abi.h"},
        Case{"refuse", "create.options: create failed: INVALID_ARGUMENT: alpha must lie in (0, 1)"},
        Case{"no instance", "create.options: create succeeded but gave no instance"},
        Case{"throw in destroy",
             "create.options: crashed with signal 6 (Aborted): terminate called after throwing an instance of "
             "'std::runtime_error'\\n  what():  not now\\n"},
        Case{"unknown code", "drive.begin: begin returned -3, which is no code of abi.h"},
        Case{"no message",
             "drive.begin: begin failed with ABORTED and no message; give a message that names the fault"},
        Case{"megabyte", "drive.begin: begin failed: INTERNAL: xxxxxxxxxxxxxxxxxxxxxxx"},
        Case{"says more than it wrote",
             "drive.begin: begin failed: INTERNAL: no message (its message claims more bytes than there is room for)"},
        Case{"escapes", "drive.begin: begin failed: DATA_LOSS: two"},
        Case{"stop", "drive.begin: begin failed: STOP: enough"},
        Case{"throw",
             "drive.life: let an exception escape through the C boundary: boom; build it on the SDK, whose callbacks "
             "turn exceptions into errors"},
        Case{"throw int",
             "drive.life: let an exception escape through the C boundary; build it on the SDK, whose callbacks turn "
             "exceptions into errors"},
        Case{"throw without text",
             "drive.life: let an exception escape through the C boundary: an exception without a message; build it on "
             "the "
             "SDK, whose callbacks turn exceptions into errors"},
        Case{"throw bad_alloc",
             "drive.life: let an exception escape through the C boundary: std::bad_alloc; build it on the SDK, whose "
             "callbacks turn exceptions into errors"}}) {
    const std::string failure = first_failure("misbehaving", {std::string("fault=") + c.fault});
    EXPECT_EQ(failure.substr(0, std::string(c.expected).size()), c.expected) << c.fault << ": " << failure;
  }
}

}  // namespace
}  // namespace belay::runtime
