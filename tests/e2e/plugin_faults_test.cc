// SPDX-License-Identifier: Apache-2.0
// A plugin that fails in one of its callbacks, of each kind and each callback: the whole line, and what the run leaves.
#include <signal.h>
#include <unistd.h>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PluginFaults : public RunTest {
 protected:
  // Runs with a hook that fails.
  ProcessResult run_with_hook(const std::string& options, int max_steps = 20) {
    std::filesystem::remove_all(run_dir());
    return belay(
        {"run",
         regression("", "[checkpoint]\nsave = \"sync\"\nsave_steps = 5\n[[hooks]]\nplugin = \"faulty\"\n" + options,
                    max_steps)});
  }
  std::vector<std::string> errors(const ProcessResult& r) const {
    std::vector<std::string> lines = lines_with(told(r), "error");
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("info "); });  // an option's name
    return lines;
  }
};

const std::string kGoesOn = "; on_error = \"disable\": it is left out from here on";
const std::string kLeftOut =
    "warning hook \"faulty\" (faulty.so 1.0.0, train.toml:16) failed and was left out (on_error = \"disable\")";
const std::string kHook = "hook \"faulty\" (faulty.so 1.0.0, train.toml:16) in ";

// The first checkpoint, of step 0, is written before the first step; so no step is told. (In the background its
// after_save would come at any of them.)
const struct HookFault {
  const char* callback;
  const char* place;
} kHookFaults[] = {
    {"begin", "begin"},
    {"after_create_session", "after_create_session"},
    {"save_state", "save_state"},
    {"before_save", "before_save"},
    {"after_save", "after_save"},
    {"before_run", "before_run at step 1"},
    {"after_run", "after_run at step 1"},
    {"end", "end at step 20"},
};

TEST_F(PluginFaults, AnExceptionFromEachCallbackOfAHookEndsTheRunWithItsName) {
  for (const HookFault& fault : kHookFaults) {
    const ProcessResult r = run_with_hook(std::string("in = \"") + fault.callback + "\"\n");
    EXPECT_EQ(r.status, 1) << fault.callback << ": " << r.err;
    EXPECT_EQ(r.out, "");
    EXPECT_THAT(errors(r),
                ElementsAre("error[B2046]: training ended with an error: " + kHook + fault.place + ": boom"));
  }
}

TEST_F(PluginFaults, WithOnErrorDisableTheRunGoesOnAndSaysAtItsEndWhatWasLeftOut) {
  for (const HookFault& fault : kHookFaults) {
    const ProcessResult r = run_with_hook(std::string("on_error = \"disable\"\nin = \"") + fault.callback + "\"\n");
    EXPECT_EQ(r.status, 0) << fault.callback << ": " << r.err;
    EXPECT_THAT(errors(r), ElementsAre("error[B2047]: faulty: " + kHook + fault.place + ": boom" + kGoesOn, kLeftOut));
    EXPECT_FALSE(weights(run_dir(), 20).empty()) << fault.callback;
  }
}

TEST_F(PluginFaults, AStateThatAHookCannotTakeEndsTheRunOrTheHook) {
  const std::string in = "in = \"load_state\"\n";
  ASSERT_EQ(run_with_hook(in).status, 0) << "nothing is loaded in a first run";
  const std::string first = weights(run_dir(), 20);
  const ProcessResult stopped = belay({"run", temp / "train.toml", "--set", "run.max_steps=30"});
  EXPECT_EQ(stopped.status, 1) << stopped.err;
  EXPECT_THAT(errors(stopped),
              ElementsAre("error[B2046]: training ended with an error: " + kHook + "load_state: boom"));
  EXPECT_EQ(weights(run_dir(), 20), first);
  const ProcessResult disabled =
      belay({"run", temp / "train.toml", "--set", "run.max_steps=30", "--set", "hooks.0.on_error=disable"});
  EXPECT_EQ(disabled.status, 0) << disabled.err;
  EXPECT_THAT(errors(disabled), ElementsAre("error[B2047]: faulty: " + kHook + "load_state: boom" + kGoesOn, kLeftOut));
}

TEST_F(PluginFaults, WhateverIsThrownIsToldInOneLine) {
  const struct {
    const char *how, *text;
    int status;
  } cases[] = {
      {"string", "unknown exception type", 1},    {"int", "unknown exception type", 1},
      {"bad_alloc", "out of memory", 1},          {"mute", "an exception without a message", 1},
      {"empty", "UNKNOWN, without a message", 1}, {"escapes", "two\\nlines \\x1b[31m and \\xff", 1},
      {"resource_exhausted", "no more room", 1},
  };
  for (const auto& c : cases) {
    const ProcessResult r = run_with_hook(std::string("in = \"after_run\"\nhow = \"") + c.how + "\"\n");
    EXPECT_EQ(r.status, c.status) << c.how << ": " << r.err;
    EXPECT_THAT(errors(r),
                ElementsAre("error[B2046]: training ended with an error: " + kHook + "after_run at step 1: " + c.text));
  }
}

TEST_F(PluginFaults, AMessageOfAMegabyteIsCut) {
  const ProcessResult r = run_with_hook("in = \"after_run\"\nhow = \"megabyte\"\n");
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(errors(r), ElementsAre("error[B2046]: training ended with an error: " + kHook +
                                     "after_run at step 1: " + std::string(4096, 'x')));
}

TEST_F(PluginFaults, T_31e_TheStepOfALateFaultIsToldAsTheLogCounts) {
  const ProcessResult r = run_with_hook("in = \"after_run\"\nat_call = 1000\n", 2000);
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(errors(r),
              ElementsAre("error[B2046]: training ended with an error: " + kHook + "after_run at step 1000: boom"));
}

TEST_F(PluginFaults, WhatFailsInOnErrorDoesNotHideTheCause) {
  const ProcessResult r = run_with_hook("in = \"on_error\"\n[[hooks]]\nplugin = \"trouble\"\nthrow_at_step = 3\n");
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(errors(r), ElementsAre("error[B2046]: training ended with an error: hook \"trouble\" (trouble.so 1.0.0, "
                                     "train.toml:19) in after_run at step 4: boom"));
}

TEST_F(PluginFaults, EachInstanceHasItsOwnPolicy) {
  const ProcessResult r = run_with_hook(
      "name = \"first\"\nin = \"before_run\"\nat_call = 3\non_error = \"disable\"\n"
      "[[hooks]]\nplugin = \"faulty\"\nname = \"second\"\nin = \"after_run\"\nat_call = 7\n");
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(
      errors(r),
      ElementsAre("error[B2047]: first: hook \"first\" of \"faulty\" (faulty.so 1.0.0, train.toml:16) in before_run at "
                  "step 3: boom; on_error = \"disable\": it is left out from here on",
                  "error[B2046]: training ended with an error: hook \"second\" of \"faulty\" (faulty.so 1.0.0, "
                  "train.toml:22) in after_run at step 7: boom",
                  "warning hook \"first\" of \"faulty\" (faulty.so 1.0.0, train.toml:16) failed and was left "
                  "out (on_error = \"disable\")"));
}

TEST_F(PluginFaults, AnAbortedCallRecoversAndIsNoReasonToDisableTheHook) {
  const ProcessResult r = run_with_hook("on_error = \"disable\"\nin = \"after_run\"\nhow = \"aborted\"\nat_call = 7\n");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(errors(r), IsEmpty());
  EXPECT_EQ(lines_with(told(r), "warning recovery 1: " + kHook + "after_run at step 7: the connection was lost").size(),
            1u)
      << r.err;
  EXPECT_FALSE(weights(run_dir(), 20).empty());
}

// Each start of the run began with it, so the run could never continue.
TEST_F(PluginFaults, T_140_AnAfterSaveThatFailsWhenARunIsResumedEndsItWithItsName) {
  ASSERT_EQ(run_with_hook("").status, 0);
  for (const char* save : {"sync", "async"}) {
    const ProcessResult r = belay({"run", temp / "train.toml", "--set", "run.max_steps=30", "--set",
                                   std::string("checkpoint.save=") + save, "--set", "hooks.0.in=after_save"});
    EXPECT_EQ(r.status, 1) << r.err;
    EXPECT_THAT(errors(r), ElementsAre(::testing::StartsWith("error[B2046]: training ended with an error: " + kHook +
                                                             "after_save")));
  }
}

// As of the host's own OUT_OF_RANGE that a plugin hands on. The training is not done.
TEST_F(PluginFaults, T_141_OutOfRangeFromNoCallbackOfAHookEndsTheRunAsDone) {
  for (const HookFault& fault : kHookFaults) {
    const ProcessResult r = run_with_hook(std::string("how = \"out_of_range\"\nin = \"") + fault.callback + "\"\n");
    EXPECT_EQ(r.status, 1) << fault.callback << ": " << r.err;
    EXPECT_THAT(told(r), ::testing::HasSubstr(kHook + fault.place +
                                              ": there is no node 7 (OUT_OF_RANGE ends no run from here: only an "
                                              "input's next ends one with it; "));
  }
}

TEST_F(PluginFaults, T_141_StopEndsARunFromBeforeRunAndAfterRunAlone) {
  for (const HookFault& fault : kHookFaults) {
    const bool ends = std::string(fault.place).find("_run") != std::string::npos;
    const ProcessResult r =
        run_with_hook(std::string("how = \"stop\"\nin = \"") + fault.callback + "\"\n" + (ends ? "at_call = 3\n" : ""));
    EXPECT_EQ(r.status, ends ? 0 : 1) << fault.callback << ": " << r.err;
    if (ends) {
      EXPECT_THAT(errors(r), IsEmpty());
    } else {
      EXPECT_THAT(told(r), ::testing::HasSubstr(kHook + fault.place + ": enough (STOP ends no run from here: "));
    }
  }
}

TEST_F(PluginFaults, T_141_AnInputsNextEndsARunWithEitherCode) {
  for (const char* code : {"out_of_range", "stop"}) {
    std::filesystem::remove_all(run_dir());
    const ProcessResult r = belay({"run", regression("", "", 20), "--set", "input.train.plugin=faulty_input", "--set",
                                   "input.train.in=next", "--set", "input.train.at_call=9", "--set",
                                   std::string("input.train.how=") + code});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(errors(r), IsEmpty());
  }
}

// ----- the other kinds

const std::string kInput = "input \"train\" of \"faulty_input\" (faulty.so 1.0.0, train.toml:5) in ";

TEST_F(PluginFaults, AnExceptionFromEachCallbackOfTheOtherKindsIsToldWithItsName) {
  const struct {
    std::vector<std::string> sets;
    std::string more;
    int status;
    std::string said;
  } cases[] = {
      {{"model.plugin=faulty_model", "model.in=build"},
       "",
       1,
       "error[B2046]: model \"faulty_model\" (faulty.so 1.0.0, train.toml:8) in build: boom"},
      {{"input.train.plugin=faulty_input", "input.train.in=spec"}, "", 1, "error[B2046]: " + kInput + "spec: boom"},
      {{"input.train.plugin=faulty_input", "input.train.in=open"}, "", 1, "error[B2046]: " + kInput + "open: boom"},
      {{"input.train.plugin=faulty_input", "input.train.in=next"}, "", 1, "error[B2046]: " + kInput + "next: boom"},
      // On the thread that feeds the queue, while the run is training.
      {{"input.train.plugin=faulty_input", "input.train.in=next", "input.train.at_call=9"},
       "",
       1,
       "error[B2046]: training ended with an error: node 'input/train_batch' (QueueDequeue): " + kInput + "next: boom"},
      {{},
       "[scaffold]\ninit_fn = [{ plugin = \"faulty_init_fn\", in = \"run\" }]\n",
       1,
       "error[B2046]: training ended with an error: init_fn \"faulty_init_fn\" (faulty.so 1.0.0, train.toml:14) in "
       "run: boom"},
      {{},
       "[scaffold]\nsaver = { plugin = \"faulty_saver\", in = \"write\" }\n",
       0,
       "error[B4002]: the checkpoint of step 0 was not written (on_save_error = \"continue\"): cannot save "
       "'DIR/run/model.ckpt-0': saver "
       "\"faulty_saver\" (faulty.so 1.0.0, train.toml:14) in write at step 0: boom"},
  };
  for (const auto& c : cases) {
    std::filesystem::remove_all(run_dir());
    std::vector<std::string> args{"run", regression("", c.more, 20)};
    for (const std::string& set : c.sets) args.insert(args.end(), {"--set", set});
    const ProcessResult r = belay(args);
    EXPECT_EQ(r.status, c.status) << r.err;
    EXPECT_THAT(errors(r), ElementsAre(c.said));
  }
}

TEST_F(PluginFaults, TheSizeOfAnInputIsAskedForWhereItIsShown) {
  const ProcessResult r = belay(
      {"run", regression(), "--set", "input.train.plugin=faulty_input", "--set", "input.train.in=size", "--dry-run"});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(told(r), "error: " + kInput + "size: boom\n");
}

TEST_F(PluginFaults, AnInputThatCannotSeekEndsTheRunThatGoesOn) {
  std::vector<std::string> args{"run", regression("", "", 20), "--set", "input.train.plugin=faulty_input"};
  ASSERT_EQ(belay(args).status, 0);
  args.insert(args.end(), {"--set", "run.max_steps=30", "--set", "input.train.in=seek"});
  const ProcessResult r = belay(args);
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(errors(r), ElementsAre("error[B2046]: training ended with an error: " + kInput + "seek: boom"));
}

TEST_F(PluginFaults, ASaverThatCannotReadLeavesTheCheckpointsAndStartsNothing) {
  std::vector<std::string> args{"run", regression("", "[scaffold]\nsaver = { plugin = \"faulty_saver\" }\n", 20)};
  ASSERT_EQ(belay(args).status, 0);
  args.insert(args.end(), {"--set", "run.max_steps=30", "--set", "scaffold.saver.in=read"});
  const ProcessResult r = belay(args);
  EXPECT_EQ(r.status, 5) << r.err;
  EXPECT_NE(told(r).find("saver \"faulty_saver\" (faulty.so 1.0.0, train.toml:14) in read: boom"), std::string::npos)
      << r.err;
  EXPECT_TRUE(std::filesystem::exists(run_dir() + "/model.ckpt-20/data"));
}

// ----- remains of a plugin

TEST_F(PluginFaults, WhateverIsLeftBehindTheProcessEndsWell) {
  for (const char* what : {"nothing", "a detached thread", "a thread that is not joined", "a thread_local",
                           "a handler of exit", "a thread's key", "signals"}) {
    std::filesystem::remove_all(run_dir());
    const ProcessResult r = belay(
        {"run", regression("", std::string("[[hooks]]\nplugin = \"leftovers\"\nleaves = \"") + what + "\"\n", 20)});
    EXPECT_EQ(r.status, 0) << what << ": " << r.err;
    EXPECT_EQ(r.signal, 0) << what;
    EXPECT_FALSE(weights(run_dir(), 20).empty()) << what;
  }
}

TEST_F(PluginFaults, AHookThatIgnoresASignalDoesNotKeepTheRunFromSavingAtIt) {
  BelayProcess run(
      {"run", regression("delay_secs = 0.01\n", "[[hooks]]\nplugin = \"leftovers\"\nleaves = \"signals\"\n", 100000)});
  ASSERT_TRUE(run.wait_for("saved ")) << run.wait().err;
  run.kill(SIGTERM);
  const ProcessResult r = run.wait();
  EXPECT_EQ(r.signal, SIGTERM) << r.err;
  EXPECT_EQ(lines_with(r.err, "stopped by SIGTERM; last checkpoint ").size(), 1u) << r.err;
}

// ----- warnings of the loader reach the user

TEST_F(PluginFaults, WhatALibraryDoesWhenItIsLoadedIsTold) {
  std::filesystem::copy_file(BELAY_BINARY_DIR "/tests/bad_plugins/plugins/changes_locale.so", temp / "x.so");
  const ProcessResult r = belay({"run", regression("", "[[hooks]]\nfile = \"./x.so\"\n", 20)});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(lines_with(told(r), "x.so"),
              ElementsAre("warning plugins: fp_mode: loading plugin 'DIR/x.so' changed the floating-point mode "
                          "(rounding, x87 control word) of this thread, which was put back; relink it without "
                          "-ffast-math",
                          "warning plugins: locale: loading plugin 'DIR/x.so' changed the locale, which was put back; "
                          "initializers of global objects must not set it"));
}

TEST_F(PluginFaults, AFileThatAGroupCanReplaceIsAWarning) {
  std::filesystem::copy_file(BELAY_BINARY_DIR "/tests/bad_plugins/plugins/minimal.so", temp / "x.so");
  std::filesystem::permissions(temp / "x.so", std::filesystem::perms::group_write, std::filesystem::perm_options::add);
  const ProcessResult r = belay({"run", regression("", "[[hooks]]\nfile = \"./x.so\"\n", 20)});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(lines_with(told(r), "x.so"),
              ElementsAre("warning plugins: plugin 'DIR/x.so' can be written by group " + std::to_string(::getegid()) +
                          ", whose members can replace plugins"));
}

// ---- threads that plugins leave

TEST_F(PluginFaults, B_10c_ACallAfterDestroyIsAWarningAndTheRunEndsWell) {
  const ProcessResult r = belay({"run", regression("",
                                                   "[[hooks]]\nplugin = \"late_caller\"\n[[hooks]]\nplugin = "
                                                   "\"late_caller\"\nname = \"late_caller_2\"\n")});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(lines_with(told(r), "warning"),
              ElementsAre(::testing::AllOf(::testing::HasSubstr("late_caller"),
                                           ::testing::HasSubstr("it calls its host after its destroy"))));
}

TEST_F(PluginFaults, B_11c_WhatAThreadEndsWithIsTheRunsError) {
  const ProcessResult r = belay({"run", regression("", "[[hooks]]\nplugin = \"thread_ends\"\nfails = true\n")});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.err, ::testing::HasSubstr("thread 'uploader': hook \"thread_ends\" ("));
  EXPECT_THAT(r.err, ::testing::ContainsRegex(" in join.*: the last part was not sent"));
}

TEST_F(PluginFaults, B_11d_AThreadThatWasUnregisteredHoldsNothingUp) {
  const ProcessResult r = belay({"run", regression("", "[[hooks]]\nplugin = \"thread_ends\"\n")});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, ::testing::HasSubstr("the session has forgotten it"));
  EXPECT_THAT(r.err, ::testing::Not(::testing::HasSubstr("uploader")));
}

}  // namespace
}  // namespace belay::runtime::testing
