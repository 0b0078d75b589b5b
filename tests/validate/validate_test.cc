// SPDX-License-Identifier: Apache-2.0
#include "runtime/validate/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "belay/testing/temporary_folder.h"

namespace belay::runtime {
namespace {

const std::string kFlawed = BELAY_FLAWED;

// The checks of one plugin that did not pass: "drive.life: failed: message".
std::vector<std::string> troubles(const std::string& plugin, const std::string& flaw, double seconds = 60) {
  std::vector<std::string> found;
  validate(kFlawed, {.sets = {"flaw=" + flaw}, .seconds = seconds}, [&](const CheckResult& r) {
    if (r.verdict == Verdict::kPassed || (!r.plugin.empty() && r.plugin != plugin)) return;
    found.push_back(r.check + ": " + verdict_name(r.verdict) + ": " + r.text);
  });
  return found;
}

// The sanitizers catch these two signals, and end the process by a status.
std::string as_seen(const std::string& text) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  for (const char* crash : {"crashed with signal 11", "crashed with signal 8"})
    if (const std::size_t at = text.find(crash); at != text.npos)
      return text.substr(0, at) + "ended the process with status ";
#endif
  return text;
}

TEST(Validate, AHookWithoutAFlawPassesButForATextThatItWasNotMadeFor) {
  const std::vector<std::string> found = troubles("hook \"flawed_hook\"", "none");
  ASSERT_EQ(found.size(), 1u);
  const std::string expected = as_seen("create.strange_texts: failed: crashed with signal 11 (Segmentation fault)");
  EXPECT_EQ(found[0].substr(0, expected.size()), expected) << found[0];
}

TEST(Validate, T_129_AHookThatFetchesWhatNoCallbackOfItsGetsIsRemarked) {
  std::string remark;
  validate(kFlawed, {.sets = {"flaw=none"}, .seconds = 60}, [&](const CheckResult& r) {
    if (r.plugin == "hook \"misspelt_hook\"" && r.check == "drive.fetches") remark = r.text;
  });
  EXPECT_THAT(remark, ::testing::StartsWith("a remark: before_run fetches loss, and there is no after_run"));
}

TEST(Validate, EachFlawOfAHookFailsItsCheck) {
  struct Case {
    const char* flaw;
    const char* expected;  // the first check that did not pass, for this flaw
  };
  for (const Case& c : {
           Case{"refuses", "create.options: failed: create failed: INVALID_ARGUMENT: it never likes its options"},
           Case{"leaks a file in create",
                "create.hundred: failed: create and destroy, a hundred times, left 100 open files"},
           Case{"wants another name",
                "drive.begin: skipped: begin does not find what it needs in the synthetic model (loss, accuracy, "
                "learning_rate, global_step, dense/kernel, dense/bias): NOT_FOUND: the graph has no 'no_such_tensor'; "
                "give its options with "
                "--set"},
           Case{"grows the graph", "drive.begin: failed: "},
           Case{"prints", "drive.life: failed: wrote to standard output, which may carry data: \"step\\nstep\\n"},
           Case{"crashes", "drive.life: failed: crashed with signal 11 (Segmentation fault)"},
           Case{"aborts", "drive.life: failed: crashed with signal 6 (Aborted)"},
           Case{"exits", "drive.life: failed: ended the process with status 0"},
           Case{"changes the umask", "drive.life: failed: changed the umask; a plugin leaves the process as it was"},
           Case{"changes the directory",
                "drive.life: failed: changed the current directory; a plugin leaves the process as it was"},
           Case{"takes a signal",
                "drive.life: failed: changed the handler of signal 2 (Interrupt); a plugin leaves the "
                "process as it was"},
           Case{"leaks a file", "drive.life: failed: after its end and destruction it left 30 open files"},
           Case{"leaks a thread", "drive.life: failed: after its end and destruction it left 1 running thread"},
           Case{"fails", "drive.life: failed: a step failed: INTERNAL: a bug of mine"},
           Case{"crashes in end", "drive.life: failed: crashed with signal 11 (Segmentation fault)"},
           Case{"crashes at nan", "drive.extreme_values: failed: crashed with signal 8 (Floating point exception)"},
           Case{"forgets", "state.comes_back: failed: state 'steps' is 7, and after it was loaded and saved again 0"},
           Case{"forgets the tensor",
                "state.comes_back: failed: state 'window' is [7, 0.5], and after it was loaded and saved again [0, "
                "0.5]"},
           Case{"crashes at a foreign tensor", "state.foreign: failed: crashed with signal 11 (Segmentation fault)"},
           Case{"crashes at a foreign state", "state.foreign: failed: crashed with signal 11 (Segmentation fault)"},
           Case{"fails in on_error", "faults.errors: failed: on_error with CANCELLED failed: INTERNAL: not now"},
       }) {
    std::string first;
    for (const std::string& trouble : troubles("hook \"flawed_hook\"", c.flaw))
      if (first.empty() && trouble.rfind("create.strange_texts", 0) != 0) first = trouble;
    const std::string expected = as_seen(c.expected);
    EXPECT_EQ(first.substr(0, expected.size()), expected) << c.flaw << ": " << first;
  }
}

TEST(Validate, T_107_WhatAnInputDoesNotNameIsARemarkAndNoFailure) {
  const auto names_of = [](const std::string& flaw) {
    std::string text;
    validate(kFlawed, {.sets = {"flaw=" + flaw}}, [&](const CheckResult& r) {
      if (r.check == "drive.names") text = std::string(verdict_name(r.verdict)) + ": " + r.text;
    });
    return text;
  };
  EXPECT_EQ(names_of("none"), "passed: ");
  EXPECT_EQ(names_of("names no columns and no label"),
            "passed: a remark: it does not name columns of 'pair' (set_columns), classes of 'label' (set_class_names); "
            "an evaluation or prediction with another order of them is then not noticed");
}

TEST(Validate, ACheckThatHangsIsKilled) {
  std::vector<std::string> found = troubles("hook \"flawed_hook\"", "hangs", 0.5);
  ASSERT_FALSE(found.empty());
  std::string life;
  for (const std::string& trouble : found)
    if (trouble.rfind("drive.life", 0) == 0) life = trouble;
  EXPECT_EQ(life, "drive.life: failed: did not end within 0.5 s");
}

// A driver has made one in the process that was killed.
TEST(Validate, ACheckThatIsKilledLeavesNoFolder) {
  const belay::testing::TemporaryFolder folder;
  const char* given = std::getenv("TMPDIR");
  const std::string before = given == nullptr ? "/tmp" : given;
  ::setenv("TMPDIR", folder.path().c_str(), 1);
  EXPECT_FALSE(troubles("hook \"flawed_hook\"", "hangs", 0.5).empty());
  ::setenv("TMPDIR", before.c_str(), 1);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Validate, T_152_WhatAPluginWritesWhereItMayNotIsFound) {
  const struct {
    const char *plugin, *flaw, *expected;
  } cases[] = {
      {"hook \"flawed_hook\"", "writes into a value",
       "drive.life: failed: a step failed: FAILED_PRECONDITION: after_run wrote into the value of 'loss', which it may "
       "only read"},
      {"hook \"flawed_hook\"", "writes behind a value",
       "drive.life: failed: a step failed: FAILED_PRECONDITION: after_run wrote past the end of the value of 'loss', "
       "which it may only read"},
      {"input \"flawed_input\"", "writes behind",
       "drive.batches: failed: next failed: FAILED_PRECONDITION: next wrote past the end of 'x'"},
  };
  for (const auto& c : cases) {
    const std::vector<std::string> all = troubles(c.plugin, c.flaw);
    EXPECT_NE(std::find(all.begin(), all.end(), c.expected), all.end()) << c.flaw << (all.empty() ? "" : all[0]);
  }
}

TEST(Validate, T_152_AHookThatAsksForWhatThereIsNotIsFound) {
  const struct {
    const char *flaw, *expected;
  } cases[] = {
      {"traces at no level",
       "drive.life: failed: a step failed: INVALID_ARGUMENT: before_run returned trace_level = 99"},
      {"stops with no code",
       "drive.life: failed: a step failed: FAILED_PRECONDITION: after_run: request_stop was called with the unknown "
       "code 777"},
  };
  for (const auto& c : cases) {
    const std::vector<std::string> all = troubles("hook \"flawed_hook\"", c.flaw);
    EXPECT_THAT(all, ::testing::Contains(::testing::StartsWith(c.expected))) << c.flaw;
  }
}

TEST(Validate, T_152_ABatchWithoutRowsOrWithOtherClassesIsFound) {
  const struct {
    const char *flaw, *expected;
  } cases[] = {
      {"has no rows",
       "drive.batches: failed: next failed: FAILED_PRECONDITION: next delivered a batch of 0 rows; the end is "
       "OUT_OF_RANGE"},
      {"has other classes",
       "drive.batches: failed: next failed: FAILED_PRECONDITION: 'y' has the value 10, and 10 classes"},
      {"ends at an interrupt", "drive.interrupt: failed: after interrupt and a seek to the start it delivers no batch"},
  };
  for (const auto& c : cases) {
    const std::vector<std::string> all = troubles("input \"flawed_input\"", c.flaw);
    EXPECT_NE(std::find(all.begin(), all.end(), c.expected), all.end()) << c.flaw << (all.empty() ? "" : all[0]);
  }
}

TEST(Validate, EachFlawOfTheOtherKindsFailsItsCheck) {
  struct Case {
    const char* plugin;
    const char* flaw;
    const char* expected;
  };
  for (const Case& c : {
           Case{"saver \"flawed_saver\"", "none",
                "drive.round_trip: failed: a model's variables, written and read: 'dense/kernel' differs"},
           Case{"saver \"flawed_saver\"", "writes nothing",
                "drive.round_trip: failed: writing and reading a model's variables failed: FAILED_PRECONDITION: write "
                "left no file"},
           Case{"input \"flawed_input\"", "none", ""},
           Case{"input \"flawed_input\"", "has no file",
                "drive.batches: skipped: open does not find what it needs in the synthetic options: NOT_FOUND: "
                "'data.bin' "
                "does not exist; give its options with --set"},
           Case{"input \"flawed_input\"", "is never the same",
                "drive.same_again: failed: batch 0 differs: 'x' before {0, 4}"},
           Case{"input \"flawed_input\"", "seeks to the start",
                "drive.shards: failed: seek failed: FAILED_PRECONDITION: next went from position {0, 4} to {0, 4}"},
           Case{"input \"flawed_input\"", "learns no columns",
                "state.learned: failed: spec for a training that continues, with what it declared and kept itself: of "
                "its columns 'pair' lacks 'a' and has 'c', unknown to the training"},
           Case{"input \"flawed_input\"", "turns columns",
                "state.learned: failed: spec for a training that continues, with what it declared and kept itself: "
                "'pair' has other columns"},
           Case{
               "input \"flawed_input\"", "fits anew",
               "state.learned: failed: spec for a training that continues, with what it declared and kept itself: what "
               "the input keeps as 'mean' is not the training's"},
           Case{"input \"flawed_input\"", "scales what was learned",
                "state.learned: failed: next for a training that continues, with what it declared and kept itself: "
                "batch 0 differs: 'x' before {0, 4}"},
           Case{"input \"flawed_input\"", "predicts a label",
                "state.learned: failed: next for a prediction, with what it declared and kept itself failed: "
                "FAILED_PRECONDITION: next did not fill 'label'"},
           Case{"model \"flawed_model\"", "none", ""},
           Case{"model \"flawed_model\"", "predicts nothing",
                "drive.builds: failed: it has no prediction, so that what it learns cannot be used"},
           Case{"model \"flawed_model\"", "predicts by other variables",
                "drive.predicts: failed: predicting it has variables that training has not: predicting float32 []; no "
                "checkpoint holds their values"},
           Case{"model \"flawed_model\"", "predicts something else",
                "drive.predicts: failed: a prediction is not what the evaluation of the same batch has: other values "
                "of 'probabilities'; "},
           Case{"model \"flawed_model\"", "counts what it evaluates",
                "drive.evaluates: failed: evaluating a batch changes variables that a checkpoint holds: seen; keep"},
           Case{"model \"flawed_model\"", "predicts with labels",
                "drive.predicts: failed: build for prediction, with a label that is declared and absent, failed: "
                "INVALID_ARGUMENT: the model expects one label, the input has 0"},
           Case{"model \"flawed_model\"", "builds any mode",
                "drive.unknown_mode: failed: asked to build a mode that no host has (99), it built a graph; it must "
                "answer UNIMPLEMENTED"},
       }) {
    const std::vector<std::string> all = troubles(c.plugin, c.flaw);
    const std::string first = all.empty() ? "" : all[0];
    EXPECT_EQ(first.substr(0, std::string(c.expected).size()), c.expected)
        << c.plugin << " " << c.flaw << ": " << first;
    if (*c.expected == 0) {
      EXPECT_EQ(first, "");
    }
  }
}

// The checks that did not pass, "drive.begin: skipped"; with the message if it failed.
std::vector<std::string> troubles_in(const std::string& file, const std::string& plugin) {
  std::vector<std::string> found;
  validate(file, {}, [&](const CheckResult& r) {
    if (r.verdict == Verdict::kPassed || r.plugin != plugin) return;
    found.push_back(r.check + ": " + (r.verdict == Verdict::kFailed ? r.text : verdict_name(r.verdict)));
  });
  return found;
}

TEST(Validate, T_30a_AHookOverTrainableVariablesIsTriedInAModelThatHasSome) {
  EXPECT_EQ(troubles_in(BELAY_WANTING, "hook \"wants_trainables\""),
            (std::vector<std::string>{"state.comes_back: skipped"}));  // it keeps none
}

TEST(Validate, T_30b_AnInitFunctionThatLooksForItsFileInTheConstructorPasses) {
  EXPECT_EQ(troubles_in(BELAY_WANTING, "init_fn \"wants_its_file\""), std::vector<std::string>{});
}

TEST(Validate, N_06c_AnExampleThatIsNotTakenFails) {
  const std::vector<std::string> by_note = troubles_in(BELAY_WRONG_EXAMPLE, "hook \"by_note\"");
  ASSERT_EQ(by_note.size(), 1u);
  EXPECT_EQ(by_note[0].rfind("create.options: it does not take the examples of its note:\n", 0), 0u) << by_note[0];
  EXPECT_NE(by_note[0].find("\"parts.0.kind\" is \"rond\", must be one of: round, square"), std::string::npos)
      << by_note[0];
  const std::vector<std::string> by_constructor = troubles_in(BELAY_WRONG_EXAMPLE, "hook \"by_constructor\"");
  ASSERT_EQ(by_constructor.size(), 2u);
  EXPECT_EQ(by_constructor[0].rfind("create.options: create with the examples of its note failed: ", 0), 0u)
      << by_constructor[0];
  EXPECT_NE(by_constructor[0].find("/a/b.txt' holds no number"), std::string::npos) << by_constructor[0];
}

TEST(Validate, T_22d_UniqueSymbolsAreListedAndThoseOfTheStandardLibraryAreNot) {
#if defined(__clang__)
  GTEST_SKIP() << "clang makes no unique symbols";
#endif
  const std::vector<std::string> found = troubles_in(BELAY_UNUSUAL_PLUGIN_DIR "/default_class_a.so", "");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].rfind("load.linked: shares ", 0), 0u) << found[0];
  EXPECT_NE(found[0].find(" unique symbols (Shared::about, "), std::string::npos) << found[0];
  EXPECT_EQ(troubles_in(BELAY_UNUSUAL_PLUGIN_DIR "/hidden_class_a.so", ""), std::vector<std::string>{});
}

TEST(Validate, AnOptionThatIsWrongIsToldBeforeAnythingRuns) {
  std::string error;
  try {
    validate(kFlawed, {.sets = {"flow=x"}}, [](const CheckResult&) {});
  } catch (const std::exception& e) {
    error = e.what();
  }
  EXPECT_EQ(error.substr(0, error.find('\n')),
            "--set flow: error[B2030]: \"flow\" is not an option of hook \"flawed_hook\"");
}

TEST(Validate, InProcessRunsTheSameChecks) {
  const auto checks = [](bool in_process) {
    std::vector<std::pair<std::string, Verdict>> all;
    validate(BELAY_BAD_PLUGIN_DIR "/minimal.so", {.in_process = in_process},
             [&](const CheckResult& r) { all.emplace_back(r.check, r.verdict); });
    return all;
  };
  EXPECT_GT(checks(true).size(), 15u);
  EXPECT_EQ(checks(true), checks(false));
}

// The option output_dir of profiler is a path, which validation makes up in many ways.
TEST(Validate, WritesNothingIntoTheCurrentFolder) {
  namespace fs = std::filesystem;
  const belay::testing::TemporaryFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  for (const bool in_process : {false, true})
    validate(BELAY_PROFILER, {.sets = {"save_steps=3"}, .in_process = in_process},
             [](const CheckResult& r) { EXPECT_EQ(r.verdict, Verdict::kPassed) << r.check << ": " << r.text; });
  EXPECT_EQ(fs::current_path(), folder.path());
  EXPECT_TRUE(fs::is_empty(folder.path())) << *fs::directory_iterator(folder.path());
  fs::current_path(before);
}

}  // namespace
}  // namespace belay::runtime
