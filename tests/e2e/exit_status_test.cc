// SPDX-License-Identifier: Apache-2.0
// One test per exit status and signal of the command line's promise.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class ExitStatus : public RunTest {
 protected:
  std::string last_line(const ProcessResult& r) const {
    std::string said = told(r);
    if (said.ends_with('\n')) said.pop_back();
    return said.substr(said.rfind('\n') + 1);
  }
};

TEST_F(ExitStatus, ZeroWhenAStopConditionIsReachedAndTheLastCheckpointIsDurable) {
  const ProcessResult r = belay({"run", regression()});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_FALSE(weights(run_dir(), 50).empty());
  ASSERT_EQ(lines_with(r.err, "info ended at step 50 (50 steps in ").size(), 1u) << r.err;
  EXPECT_EQ(lines_with(r.err, "stop_at_step: reached step 50 (last_step = 50); last checkpoint " + run_dir() +
                                  "/model.ckpt-50")
                .size(),
            1u)
      << r.err;
}

TEST_F(ExitStatus, ZeroWhenTheInputEnds) {
  const ProcessResult r = belay({"run", regression("epochs = 1\nexamples = 64\n", "", 1000)});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_FALSE(weights(run_dir(), 4).empty());
  EXPECT_EQ(lines_with(r.err, "info ended at step 4 (4 steps").size(), 1u) << r.err;
}

// Also with -q, and at each start: the next one is no start of a finished run.
TEST_F(ExitStatus, T_114_TwoWhenTheInputEndsBeforeTheFirstStep) {
  const std::string manifest = regression("epochs = 1\nexamples = 64\n", "accumulate = 8\n", 1000);
  for (int start = 0; start < 2; ++start) {
    const ProcessResult r = belay({"run", manifest, "-q"});
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_THAT(told(r), ::testing::HasSubstr("warning nothing was trained, the run made no step: the input ended: "));
    EXPECT_THAT(told(r), ::testing::HasSubstr(" and a step takes accumulate = 8, and max_steps is 1000"));
    EXPECT_THAT(told(r), ::testing::HasSubstr("; lower [optimizer] accumulate or the input's batch_size"));
  }
  EXPECT_EQ(belay({"run", manifest, "-q", "--from-scratch", "--set", "optimizer.accumulate=4"}).status, 0);
  const ProcessResult finished = belay({"run", manifest, "-q", "--set", "optimizer.accumulate=4"});
  EXPECT_EQ(finished.status, 0) << finished.err;
  EXPECT_THAT(finished.err, ::testing::Not(::testing::HasSubstr("nothing was trained")));
}

TEST_F(ExitStatus, ZeroWhenAHookAsksToStop) {
  const ProcessResult r = belay({"run", regression("", "[[hooks]]\nplugin = \"trouble\"\nstop_at_run = 6\n")});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(lines_with(r.err, "info ended at step 7 (7 steps").size(), 1u) << r.err;
  EXPECT_EQ(lines_with(r.err, "trouble: enough").size(), 1u) << r.err;
}

TEST_F(ExitStatus, OneWhenAHookThrowsAndNoFinalCheckpointIsWritten) {
  const ProcessResult r = belay({"run", regression("", "[[hooks]]\nplugin = \"trouble\"\nthrow_at_step = 3\n")});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_EQ(lines_with(r.err, "hook \"trouble\" (trouble.so 1.0.0, train.toml:13) in after_run at step 4: boom").size(),
            1u)
      << r.err;
  EXPECT_TRUE(weights(run_dir(), 4).empty());
}

TEST_F(ExitStatus, ACrashNamesThePluginItsStackAndTheCheckpointToGoOnFrom) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer reports the crash in its own way";
  const ProcessResult r = belay({"run", regression("",
                                                   "[checkpoint]\nsave_steps = 5\nsave_secs = 0\n"
                                                   "[[hooks]]\nplugin = \"trouble\"\ncrash_at_step = 7\n")});
  EXPECT_EQ(r.signal, SIGSEGV) << r.err;
  EXPECT_EQ(
      lines_with(
          r.err,
          "belay crashed with SIGSEGV in hook \"trouble\" (trouble.so 1.0.0, train.toml:16) in after_run at step 8")
          .size(),
      1u)
      << r.err;
  EXPECT_GE(lines_with(r.err, "trouble.so(").size(), 1u) << "the stack: " << r.err;
  EXPECT_GE(lines_with(r.err, "belay::runtime::HookedSession::").size(), 1u) << "with names: " << r.err;
  EXPECT_EQ(lines_with(r.err, "the next start continues from: model_checkpoint_path: \"model.ckpt-").size(), 1u)
      << r.err;
  const ProcessResult again = belay({"run", regression()});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(lines_with(again.err, "info ended at step 50").size(), 1u) << again.err;
}

TEST_F(ExitStatus, T_116_AMappedFileThatBecameShorterIsNamedWithTheReason) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer reports the crash in its own way";
  constexpr int kRows = 20'000, kColumns = 16;
  const std::string shape = "(" + std::to_string(kRows) + ", " + std::to_string(kColumns) + "), }";
  std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape;
  head.resize(117, ' ');
  write_file(temp / "x.npy", std::string("\x93NUMPY\1\0\x76\0", 10) + head + "\n" +
                                 std::string(std::size_t{4} * kRows * kColumns, '\0'));
  const std::string path = temp / "train.toml";
  write_file(path,
             "[run]\ndir = \"run\"\nmax_steps = 100000000\nthreads = 1\n[input.train]\nplugin = \"npy\"\nfeatures = "
             "\"x.npy\"\nshuffle = true\n[model]\nplugin = \"autoencoder\"\n[optimizer]\nname = \"sgd\"\n"
             "learning_rate = 0.001\n[session]\nlog_step_count_steps = 1\n");
  BelayProcess run({"run", path});
  ASSERT_TRUE(run.wait_for("saved ")) << run.wait().err;
  std::filesystem::resize_file(std::string(temp / "x.npy"), 100'000);
  const ProcessResult r = run.wait();
  EXPECT_EQ(r.signal, SIGBUS) << r.err;
  EXPECT_THAT(r.err,
              ::testing::ContainsRegex("'/.*/x.npy' is mapped into memory, and its byte [0-9]+ is gone: the file "
                                       "became shorter while it was in use, and has 100000 bytes now; write "
                                       "another file, and rename it to this name\n"));
  EXPECT_EQ(lines_with(r.err, "the next start continues from: model_checkpoint_path: ").size(), 1u) << r.err;
}

// As cp does it, and a linker.
TEST_F(ExitStatus, T_115_ALibraryThatIsOverwrittenWhileItRunsIsNamedBehindTheCheckpoint) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer reports the crash in its own way";
  for (const bool cut : {false, true}) {
    const std::string folder = temp / (cut ? "cut" : "other"), library = folder + "/numbers.so";
    std::filesystem::create_directory(folder);
    std::filesystem::copy_file(BELAY_BINARY_DIR "/tests/e2e/plugins/numbers.so", library);
    const std::string path = temp / "train.toml";
    write_file(path,
               "[run]\ndir = \"" + folder + "/run\"\nmax_steps = 100000000\nthreads = 1\n[input.train]\nplugin = " +
                   "\"numbers\"\ndelay_secs = 0.002\n[model]\nplugin = \"linear\"\n[optimizer]\nname = \"sgd\"\n" +
                   "learning_rate = 0.01\n[session]\nlog_step_count_steps = 1\n");
    BelayProcess run({"run", path}, {"BELAY_PLUGIN_PATH=" + folder + ":" + tested_build() + "/plugins"});
    ASSERT_TRUE(run.wait_for("saved ")) << run.wait().err;
    if (cut)
      std::filesystem::resize_file(library, 0);
    else
      write_file(library, std::string(std::filesystem::file_size(library), '\0'));
    const ProcessResult r = run.wait();
    EXPECT_NE(r.signal, 0) << r.err;
    const std::size_t crashed = r.err.find("belay crashed with "),
                      goes_on = r.err.find("\nthe next start continues from: model_checkpoint_path: "),
                      changed = r.err.find("\nplugin '" + library +
                                           "' changed since it was loaded: its file was overwritten");
    EXPECT_LT(crashed, goes_on) << r.err;
    EXPECT_LT(goes_on, changed) << r.err;
    EXPECT_NE(changed, std::string::npos) << r.err;
  }
}

TEST_F(ExitStatus, OneWhenTheInputBreaksWhileTraining) {
  const ProcessResult r = belay({"run", regression("fail_at_batch = 5\nfail_with = \"data_loss\"\n")});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_EQ(lines_with(r.err, "record 5 is damaged").size(), 1u) << r.err;
}

TEST_F(ExitStatus, TwoForAWrongManifestAndNothingIsMade) {
  const ProcessResult r = belay({"run", regression("bach_size = 3\n")});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_NE(r.err.find("did you mean \"batch_size\"?"), std::string::npos) << r.err;
  EXPECT_FALSE(std::filesystem::exists(run_dir()));
}

TEST_F(ExitStatus, T_128_TheWordsOfOtherProgramsLeadToOurs) {
  EXPECT_EQ(belay({"train", "x.toml"}).err,
            "error[B5001]: belay has no command 'train': write belay run MANIFEST; see belay --help\n");
  const auto option = [](const char* name) { return belay({"run", "x.toml", name}).err; };
  EXPECT_EQ(
      option("--max-steps=5"),
      "error[B5002]: belay run has no option --max-steps: write --set run.max_steps=VALUE; see belay run --help\n");
  EXPECT_EQ(option("--batch-size=5"),
            "error[B5002]: belay run has no option --batch-size: write --set input.train.batch_size=VALUE; see belay "
            "run --help\n");
  EXPECT_EQ(option("--output_dir=x"),
            "error[B5002]: belay run has no option --output_dir; in the manifest, write dir in [run], or --set "
            "SECTION.KEY=VALUE "
            "here; see belay run --help\n");
  EXPECT_EQ(belay({"events", "x", "--max-steps=5"}).err,
            "error[B5002]: belay events has no option --max-steps; see belay events --help\n")
      << "it takes no manifest";
}

TEST_F(ExitStatus, TwoForAWrongCommandLine) {
  EXPECT_EQ(belay({}).status, 2);
  const ProcessResult command = belay({"rum"});
  EXPECT_EQ(command.status, 2);
  EXPECT_EQ(command.err, "error[B5001]: belay has no command 'rum' (did you mean \"run\"?); see belay --help\n");
  const ProcessResult option = belay({"run", "--dryrun", "x.toml"});
  EXPECT_EQ(option.status, 2);
  EXPECT_EQ(option.err,
            "error[B5002]: belay run has no option --dryrun (did you mean \"dry-run\"?); see belay run --help\n");
  EXPECT_EQ(belay({"run"}).err, "error[B5003]: belay run takes a manifest, none was given; see belay run --help\n");
}

TEST_F(ExitStatus, TwoWhereTheRunDirectoryCannotBeWritten) {
  write_file(temp / "run", "a file is in the way");
  const ProcessResult r = belay({"run", regression()});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_NE(r.err.find(run_dir()), std::string::npos) << r.err;
  EXPECT_EQ(contents(temp / "run"), "a file is in the way");
}

TEST_F(ExitStatus, ThreeForAPluginThatIsNotThereOrNotUsable) {
  const ProcessResult missing = belay({"run", regression("", "[[hooks]]\nplugin = \"loging_tensor\"\n")});
  EXPECT_EQ(missing.status, 3) << missing.err;
  EXPECT_NE(missing.err.find("logging_tensor"), std::string::npos) << missing.err;
  write_file(temp / "not.so", "not a library");
  const ProcessResult bad = belay({"run", regression("", "[[hooks]]\nfile = \"not.so\"\n")});
  EXPECT_EQ(bad.status, 3) << bad.err;
  EXPECT_FALSE(std::filesystem::exists(run_dir()));
}

TEST_F(ExitStatus, FourWhenTheLossIsNaN) {
  const ProcessResult r = belay({"run", regression("nan_at_batch = 5\n")});
  EXPECT_EQ(r.status, 4) << r.err;
  EXPECT_EQ(lines_with(r.err, "nan_tensor").size(), 1u) << r.err;
  // The existing files are from before.
  EXPECT_FALSE(weights(run_dir(), 0).empty());
  EXPECT_TRUE(weights(run_dir(), 6).empty());
}

TEST_F(ExitStatus, FiveWhereCheckpointsExistAndNoneCanBeRestored) {
  ASSERT_EQ(belay({"run", regression()}).status, 0);
  for (const auto& entry : std::filesystem::directory_iterator(run_dir()))
    if (entry.path().filename().string().rfind("model.ckpt-", 0) == 0)
      std::filesystem::resize_file(entry.path() / "model.safetensors", 10);
  const ProcessResult r = belay({"run", regression("", "", 60)});
  EXPECT_EQ(r.status, 5) << r.err;
  EXPECT_NE(r.err.find("model.ckpt-50"), std::string::npos) << r.err;
  EXPECT_TRUE(weights(run_dir(), 60).empty());
  // Starting over is possible, when it is asked for, and deletes nothing.
  const ProcessResult over = belay({"run", regression("", "", 60), "--from-scratch"});
  EXPECT_EQ(over.status, 0) << over.err;
  EXPECT_TRUE(std::filesystem::exists(run_dir() + "/before-1/model.ckpt-50"));
}

TEST_F(ExitStatus, FiveForACheckpointOfAnotherModelWithATableOfTheDifferences) {
  ASSERT_EQ(belay({"run", regression()}).status, 0);
  const ProcessResult r = belay({"run", regression(), "--set", "model.plugin=mlp", "--resume=changed"});
  EXPECT_EQ(r.status, 5) << r.err;
  EXPECT_NE(r.err.find("missing"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("hidden_1/kernel"), std::string::npos) << r.err;
  EXPECT_FALSE(weights(run_dir(), 50).empty());
}

TEST_F(ExitStatus, SixForASecondRunInTheSameDirectory) {
  BelayProcess first({"run", regression("delay_secs = 0.05\n", "", 100000)});
  ASSERT_TRUE(first.wait_for("saved ")) << first.wait().err;
  const ProcessResult second = belay({"run", temp / "train.toml"});
  EXPECT_EQ(second.status, 6) << second.err;
  EXPECT_NE(second.err.find(std::to_string(first.pid())), std::string::npos) << second.err;
}

TEST_F(ExitStatus, SevenWhenTheLastCheckpointCannotBeWritten) {
  if (geteuid() == 0) {
    // Root writes everywhere: a limit on the size of files replaces a full disk.
    BelayProcess run({"run", regression("delay_secs = 0.02\n", "", 60), "--set", "model.plugin=mlp", "--set",
                      "model.hidden=[20000]"});
    ASSERT_TRUE(run.wait_for("saved ")) << run.wait().err;
    const std::string limit = "prlimit --fsize=4096 --pid " + std::to_string(run.pid());
    ASSERT_EQ(std::system(limit.c_str()), 0);
    const ProcessResult r = run.wait();
    EXPECT_EQ(r.status, 7) << r.err;
    EXPECT_EQ(lines_with(r.err, "the last checkpoint was not written").size(), 1u) << r.err;
    EXPECT_FALSE(weights(run_dir(), 0).empty());
    return;
  }
  BelayProcess run({"run", regression("delay_secs = 0.02\n", "", 60)});
  ASSERT_TRUE(run.wait_for("saved ")) << run.wait().err;
  ASSERT_EQ(chmod(run_dir().c_str(), 0500), 0);
  const ProcessResult r = run.wait();
  EXPECT_EQ(r.status, 7) << r.err;
}

TEST_F(ExitStatus, HundredAndTwentyFourWithoutProgressAfterAWarningAndAllStacks) {
  const ProcessResult r = belay({"run", regression("",
                                                   "[session]\nno_progress_secs = 1.0\n[[hooks]]\nplugin = "
                                                   "\"trouble\"\nhang_at_step = 3\n")});
  EXPECT_EQ(r.status, 124) << r.err;
  // Again after the save beside the hook, which is progress.
  EXPECT_GE(
      lines_with(
          r.err,
          "warning no progress for 0.5 s, in hook \"trouble\" (trouble.so 1.0.0, train.toml:15) in after_run at step 4")
          .size(),
      1u)
      << r.err;
  EXPECT_GE(lines_with(r.err, "thread ").size(), 2u) << r.err;
  EXPECT_GE(lines_with(r.err, "trouble.so(").size(), 1u) << "the stack of the one that hangs: " << r.err;
  EXPECT_GE(lines_with(r.err, "belay::runtime::HookedSession::").size(), 1u) << "with names: " << r.err;
}

TEST_F(ExitStatus, ASignalSavesTheStateAndIsSeenByTheParent) {
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    std::filesystem::remove_all(run_dir());
    BelayProcess run({"run", regression("delay_secs = 0.01\n", "", 100000)});
    ASSERT_TRUE(run.wait_for("saved ")) << run.wait().err;
    run.kill(signal);
    const ProcessResult r = run.wait();
    EXPECT_EQ(r.signal, signal) << r.err;
    const auto ended = lines_with(r.err, "info ended at step ");
    ASSERT_EQ(ended.size(), 1u) << r.err;
    const int step = std::stoi(ended[0].substr(ended[0].find("step ") + 5));
    EXPECT_FALSE(weights(run_dir(), step).empty()) << r.err;
    EXPECT_NE(ended[0].find("stopped by SIG"), std::string::npos);
  }
}

TEST_F(ExitStatus, ASignalWhileTheInputDawdlesEndsTheWait) {
  BelayProcess run({"run", regression("hang_at_batch = 5\n",
                                      "[session]\nstop_grace_period_secs = 0.2\n[[hooks]]\nplugin = "
                                      "\"logging_tensor\"\ntensors = [\"global_step\"]\nevery_n_iter = 1\n")});
  ASSERT_TRUE(run.wait_for("global_step = 4")) << run.wait().err;
  run.kill(SIGTERM);
  const ProcessResult r = run.wait();
  EXPECT_EQ(r.signal, SIGTERM) << r.err;
  EXPECT_FALSE(weights(run_dir(), 5).empty()) << r.err;
}

// Three steps are done, and a hook hangs in the fourth; the log shows when that is so.
constexpr const char* kHangsInStep4 =
    "[[hooks]]\nplugin = \"logging_tensor\"\ntensors = [\"global_step\"]\nevery_n_iter = 1\n"
    "[[hooks]]\nplugin = \"trouble\"\nhang_at_step = 3\n";

TEST_F(ExitStatus, T_54a_ASecondSignalEndsAtOnceAndTheLastLineSaysWhatIsKept) {
  BelayProcess run({"run", regression("", kHangsInStep4)});
  ASSERT_TRUE(run.wait_for("global_step = 3")) << run.wait().err;
  ASSERT_TRUE(run.wait_for("model.ckpt-0")) << "written beside these steps: " << run.wait().err;
  run.kill(SIGTERM);
  usleep(200'000);  // the first one is taken
  run.kill(SIGINT);
  const ProcessResult r = run.wait();
  EXPECT_EQ(r.signal, SIGINT) << r.err;
  EXPECT_THAT(last_line(r), AllOf(StartsWith("warning ended by a second signal, SIGINT, in hook \"trouble\" ("),
                                  EndsWith("in after_run at step 4: saved is DIR/run/model.ckpt-0, from which the next "
                                           "start continues; 3 steps are lost")));
  const ProcessResult again = belay({"run", regression()});
  EXPECT_EQ(lines_with(again.err, "restored step 0 from " + run_dir() + "/model.ckpt-0").size(), 1u) << again.err;
}

TEST_F(ExitStatus, T_54a_T_148_TheGraceOfASignalIsADeadlineAndTheHookThatIsWaitedForIsNamedAndSavedBeside) {
  BelayProcess run({"run", regression("", "[session]\nsignal_grace_secs = 0.3\n[checkpoint]\nsave_steps = 2\n" +
                                              std::string(kHangsInStep4))});
  ASSERT_TRUE(run.wait_for("global_step = 3")) << run.wait().err;
  ASSERT_TRUE(run.wait_for("model.ckpt-2")) << "written beside the one that hangs: " << run.wait().err;
  run.kill(SIGTERM);
  const ProcessResult r = run.wait();
  EXPECT_EQ(r.signal, SIGTERM) << r.err;
  EXPECT_THAT(last_line(r), AllOf(StartsWith("warning ended by SIGTERM, after its signal_grace_secs = 0.3, in hook "
                                             "\"trouble\" (trouble.so 1.0.0, train.toml:"),
                                  EndsWith("in after_run at step 4: saved is DIR/run/model.ckpt-4, from which the next "
                                           "start continues; no step is lost")));
  EXPECT_EQ(lines_with(r.err, " does not come back from after_run: the variables are saved beside it").size(), 1u)
      << r.err;
  const ProcessResult again = belay({"run", regression()});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(lines_with(again.err, "restored step 4 from " + run_dir() + "/model.ckpt-4").size(), 1u) << again.err;
}

TEST_F(ExitStatus, T_148_BeforeTrainingTheCallbackThatASignalEndsIsNamed) {
  BelayProcess run({"run", regression("", "[[hooks]]\nplugin = \"trouble\"\ndawdle_in = \"begin\"\n")});
  ASSERT_TRUE(run.wait_for("dawdles in begin")) << run.wait().err;
  run.kill(SIGTERM);
  const ProcessResult r = run.wait();
  EXPECT_EQ(r.signal, SIGTERM) << r.err;
  EXPECT_THAT(last_line(r), AllOf(StartsWith("info ended by SIGTERM before training began, in hook \"trouble\" ("),
                                  EndsWith("in begin: there is nothing to save")));
}

TEST_F(ExitStatus, T_54a_WhereNothingWasSavedTheLastLineSaysThat) {
  const std::string manifest = regression("", kHangsInStep4);
  write_file(manifest, replaced(contents(manifest), "dir = \"run\"\n", ""));
  BelayProcess run({"run", manifest});
  ASSERT_TRUE(run.wait_for("global_step = 3")) << run.wait().err;
  run.kill(SIGTERM);
  usleep(200'000);  // the first one is taken
  run.kill(SIGTERM);
  EXPECT_THAT(last_line(run.wait()),
              AllOf(StartsWith("warning ended by a second signal, SIGTERM, in hook \"trouble\" ("),
                    EndsWith("in after_run at step 4: nothing was saved, the next start begins at step 0")));
}

TEST_F(ExitStatus, T_54a_WhileARunGoesOnFromACheckpointNothingOfItIsLost) {
  ASSERT_EQ(belay({"run", regression()}).status, 0);
  BelayProcess run(
      {"run", regression("", "[[hooks]]\nplugin = \"trouble\"\ndawdle_in = \"after_create_session\"\n", 60)});
  ASSERT_TRUE(run.wait_for("dawdles in after_create_session")) << run.wait().err;
  run.kill(SIGTERM);
  usleep(200'000);  // the first one is taken
  run.kill(SIGTERM);
  EXPECT_THAT(
      last_line(run.wait()),
      AllOf(StartsWith("warning ended by a second signal, SIGTERM, in hook \"trouble\" ("),
            HasSubstr(" in after_create_session"),
            EndsWith(": saved is DIR/run/model.ckpt-50, from which the next start continues; no step is lost")));
}

TEST_F(ExitStatus, T_54c_ASaveThatIsLikelyToTakeLongerThanTheGraceIsAWarningAtTheStart) {
  const ProcessResult r =
      belay({"run", regression("",
                               "[checkpoint]\nsave = \"sync\"\n[session]\nsignal_grace_secs = 0.1\n"
                               "[[hooks]]\nplugin = \"trouble\"\ndawdle_in = \"before_save\"\ndawdle_secs = 0.5\n")});
  EXPECT_EQ(r.status, 0) << r.err;
  const std::string said = told(r);
  const std::size_t warning = said.find("warning a save takes 0.");
  ASSERT_NE(warning, std::string::npos) << said;
  EXPECT_LT(warning, said.find("progress: step ")) << "before the first step: " << said;
  EXPECT_EQ(lines_with(said, "and after a signal the run has 0.1 s: its last checkpoint may not be written").size(),
            1u);
}

// The second run's history is its own: the first one sees that its lock is gone before it writes again.
TEST_F(ExitStatus, T_59c_SixWhereSomebodyRemovedTheLockOfARun) {
  const std::string manifest =
      regression("delay_secs = 0.01\n", "[checkpoint]\nsave_steps = 5\nsave_secs = 0\n", 100000);
  BelayProcess first({"run", manifest});
  ASSERT_TRUE(first.wait_for("saved ")) << first.wait().err;
  std::filesystem::remove(run_dir() + "/lock");
  BelayProcess second({"run", manifest});
  const ProcessResult r = first.wait();
  EXPECT_EQ(r.status, 6) << r.err;
  EXPECT_GE(lines_with(r.err, "is no longer this run's: its file 'lock' was removed or replaced").size(), 1u) << r.err;
  ASSERT_TRUE(second.wait_for("saved ")) << second.wait().err;
  second.kill(SIGTERM);
  EXPECT_EQ(second.wait().signal, SIGTERM);
}

TEST_F(ExitStatus, SigUsr2SavesAndGoesOn) {
  BelayProcess run({"run", regression("delay_secs = 0.01\n", "", 100000)});
  ASSERT_TRUE(run.wait_for("saved ")) << run.wait().err;
  run.kill(SIGUSR2);
  ASSERT_TRUE(run.wait_until([&] {
    std::size_t n = 0;
    for (const auto& e : std::filesystem::directory_iterator(run_dir()))
      if (e.path().filename().string().rfind("model.ckpt-", 0) == 0) ++n;
    return n >= 2;
  }));
  run.kill(SIGTERM);
  EXPECT_EQ(run.wait().signal, SIGTERM);
}

TEST_F(ExitStatus, SigQuitWritesTheStacksAndGoesOn) {
  BelayProcess run({"run", regression("delay_secs = 0.01\n", "", 100000)});
  ASSERT_TRUE(run.wait_for("saved ")) << run.wait().err;
  run.kill(SIGQUIT);
  EXPECT_TRUE(run.wait_for("thread "));
  run.kill(SIGTERM);
  EXPECT_EQ(run.wait().signal, SIGTERM);
}

// While hooks end, after the last save.
TEST_F(ExitStatus, T_63b_ACheckpointThatWasRemovedIsNotNamedAsTheLastOne) {
  BelayProcess run(
      {"run", regression("", "[[hooks]]\nplugin = \"trouble\"\ndawdle_in = \"end\"\ndawdle_secs = 0.5\n", 5)});
  ASSERT_TRUE(run.wait_for("dawdles in end")) << run.wait().err;
  std::filesystem::remove_all(run_dir() + "/model.ckpt-5");
  const ProcessResult r = run.wait();
  EXPECT_EQ(r.status, 7) << r.err;
  EXPECT_EQ(lines_with(told(r), "info ended at step 5 ").at(0).find("last checkpoint"), std::string::npos) << r.err;
  EXPECT_EQ(last_line(r),
            "error[B4025]: the last checkpoint was removed after it was written: there is no DIR/run/model.ckpt-5");
}

TEST_F(ExitStatus, T_63b_ACheckpointInADirectoryThatWasMovedIsSaidToBeThere) {
  BelayProcess run(
      {"run", regression("", "[[hooks]]\nplugin = \"trouble\"\ndawdle_in = \"end\"\ndawdle_secs = 0.5\n", 5)});
  ASSERT_TRUE(run.wait_for("dawdles in end")) << run.wait().err;
  std::filesystem::rename(run_dir(), temp / "elsewhere");
  const ProcessResult r = run.wait();
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(lines_with(told(r),
                       "; last checkpoint model.ckpt-5, which is in the run directory, but that was moved away "
                       "from DIR/run")
                .size(),
            1u)
      << r.err;
  EXPECT_FALSE(weights(temp / "elsewhere", 5).empty());
}

}  // namespace
}  // namespace belay::runtime::testing
