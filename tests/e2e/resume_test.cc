// SPDX-License-Identifier: Apache-2.0
// The same bits after a kill, a recovery, a signal; with and without somebody watching.
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

class ResumeTest : public RunTest {
 protected:
  static constexpr int kSteps = 240;
  // An MLP with all that makes a resume hard: dropout, shuffling, two decode threads, a long queue, a last partial
  // batch, a decaying rate, momentum, a hook on seconds.
  std::string hard(const std::string& name, const std::string& more = "", const std::string& input = "") {
    const std::string path = temp / (name + ".toml");
    write_file(path,
               "[run]\ndir = \"" + name + "\"\nmax_steps = " + std::to_string(kSteps) +
                   "\nthreads = 2\nseed = 7\n"
                   "[input.train]\nplugin = \"digits\"\nexamples = 333\nbatch_size = 32\nshuffle = true\n"
                   "decode_threads = 2\nprefetch = 8\n" +
                   input +
                   "[model]\nplugin = \"mlp\"\nhidden = [33, 17]\ndropout = 0.3\n"
                   "[optimizer]\nname = \"adam\"\nlearning_rate = { schedule = \"exponential_decay\", learning_rate = "
                   "0.01, decay_steps = 50, decay_rate = 0.7 }\nclip_norm = 1.0\n"
                   "[checkpoint]\nsave_steps = 20\nmax_to_keep = 3\n"
                   "[[hooks]]\nplugin = \"logging_tensor\"\ntensors = [\"loss\", \"accuracy\"]\nevery_n_secs = 0.05\n" +
                   more);
    return path;
  }
  std::string final_weights(const std::string& name) { return weights(temp / name, kSteps); }
};

TEST_F(ResumeTest, KilledAndStartedAgainItEndsWithTheSameBits) {
  ASSERT_EQ(belay({"run", hard("whole")}).status, 0);
  const std::string whole = final_weights("whole");
  ASSERT_FALSE(whole.empty());
  int kills = 0;
  const std::string manifest = hard("killed");
  for (const int at : {20, 60, 100, 180}) {
    BelayProcess run({"run", manifest});
    if (!run.wait_until([&] { return std::filesystem::exists(temp / ("killed/model.ckpt-" + std::to_string(at))); }))
      continue;
    run.kill(SIGKILL);
    if (run.wait().signal == SIGKILL) ++kills;
  }
  EXPECT_GE(kills, 2);
  const ProcessResult last = belay({"run", manifest});
  ASSERT_EQ(last.status, 0) << last.err;
  EXPECT_EQ(lines_with(last.err, "restored step ").size(), 1u) << last.err;
  EXPECT_EQ(final_weights("killed"), whole);
}

// As after a kill between a checkpoint's rename and the state file, or by a hand that goes back.
TEST_F(ResumeTest, T_56e_WhatTheStateFileDoesNotNameIsNotRestoredAndNotKeptForEver) {
  const auto manifest = [&](int max_steps) {
    return regression("", "[checkpoint]\nsave_steps = 10\nsave_secs = 0\nmax_to_keep = 3\n", max_steps);
  };
  ASSERT_EQ(belay({"run", manifest(40)}).status, 0);
  write_file(run_dir() + "/checkpoint", "model_checkpoint_path: \"./model.ckpt-30\"\n");
  const ProcessResult again = belay({"run", manifest(45)});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(lines_with(again.err, "restored step 30 ").size(), 1u) << again.err;
  EXPECT_EQ(lines_with(again.err, "model.ckpt-40 is newer than model.ckpt-30, which the state file names").size(), 1u)
      << again.err;
  EXPECT_EQ(lines_with(again.err, "warning").size(), 0u) << again.err;
  std::vector<std::string> names = listing(run_dir());
  std::erase_if(names, [](const std::string& name) { return name.rfind("model.ckpt-", 0) != 0; });
  EXPECT_LE(names.size(), 4u);  // model.ckpt-20 was taken off the list by hand
  EXPECT_THAT(names, ::testing::Contains("model.ckpt-45"));
}

TEST_F(ResumeTest, ASigtermLosesNoStepAndTheBitsAreTheSame) {
  ASSERT_EQ(belay({"run", hard("whole")}).status, 0);
  const std::string manifest = hard("stopped");
  BelayProcess run({"run", manifest});
  ASSERT_TRUE(run.wait_until([&] { return std::filesystem::exists(temp / "stopped/model.ckpt-40"); }));
  run.kill(SIGTERM);
  const ProcessResult r = run.wait();
  ASSERT_EQ(r.signal, SIGTERM) << r.err;
  const auto ended = lines_with(r.err, "info ended at step ");
  ASSERT_EQ(ended.size(), 1u);
  const int step = std::stoi(ended[0].substr(ended[0].find("step ") + 5));
  const ProcessResult second = belay({"run", manifest});
  ASSERT_EQ(second.status, 0) << second.err;
  EXPECT_EQ(lines_with(second.err, "restored step " + std::to_string(step) + " ").size(), 1u) << second.err;
  EXPECT_EQ(final_weights("stopped"), final_weights("whole"));
}

// F38. The memory may end anywhere: in the start, in a plugin, in the restore, in a step, in a save, in oneDNN.
TEST_F(ResumeTest, StartsThatGetTooLittleMemoryCostNoCheckpointAndNoBit) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer reserves terabytes of addresses";
  ASSERT_EQ(belay({"run", hard("whole")}).status, 0);
  const std::string manifest = hard("starved");
  ASSERT_EQ(belay({"run", manifest, "--set", "run.max_steps=60"}).status, 0);
  int failed = 0;
  for (int megabytes = 60; megabytes < 1000; megabytes += 20) {
    const std::string command = "BELAY_PLUGIN_PATH='" + tested_build() +
                                "/plugins' prlimit --core=0 --as=" + std::to_string(megabytes) + "000000 '" +
                                tested_belay() + "' run '" + manifest + "' >'" + (temp / "said") + "' 2>&1";
    if (std::system(command.c_str()) == 0) break;
    ++failed;
    const ProcessResult verified = belay({"checkpoint", "verify", temp / "starved"});
    EXPECT_EQ(verified.status, 0) << megabytes << verified.out << contents(temp / "said");
  }
  EXPECT_GT(failed, 2);
  const ProcessResult last = belay({"run", manifest});
  EXPECT_EQ(last.status, 0) << last.err;
  EXPECT_EQ(final_weights("starved"), final_weights("whole"));
}

TEST_F(ResumeTest, T_63e_AWarmStartNeedsNoRunDirectory) {
  ASSERT_EQ(belay({"run", regression()}).status, 0);
  const std::string path = temp / "warm.toml";
  write_file(
      path,
      "[run]\nmax_steps = 3\n[input.train]\nplugin = \"numbers\"\n[model]\nplugin = \"linear\"\n[optimizer]\n"
      "name = \"sgd\"\nlearning_rate = 0.01\n[scaffold]\ninit_fn = [{ plugin = \"warm_start\", from = \"run\" }]\n");
  const ProcessResult r = belay({"run", path});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(lines_with(r.err, "warm start from '" + run_dir() + "': 2 variables").size(), 1u) << r.err;
}

TEST_F(ResumeTest, AnInputThatAbortsLeadsToTheSameBitsInPlace) {
  const auto manifest = [&](const std::string& name, const std::string& input) {
    const std::string path = temp / (name + ".toml");
    write_file(
        path,
        "[run]\ndir = \"" + name +
            "\"\nmax_steps = 120\n[input.train]\nplugin = \"numbers\"\nexamples = 100\nbatch_size = 16\nshuffle = "
            "true\nprefetch = 4\n" +
            input +
            "[model]\nplugin = \"mlp\"\nhidden = [9]\ndropout = 0.2\n[optimizer]\nname = \"momentum\"\n"
            "learning_rate = { schedule = \"exponential_decay\", learning_rate = 0.01, decay_steps = 20, decay_rate = "
            "0.7 }\n[checkpoint]\nsave_steps = 25\n");
    return path;
  };
  ASSERT_EQ(belay({"run", manifest("whole", "")}).status, 0);
  for (const int batch : {1, 30, 77}) {
    const std::string name = "aborted" + std::to_string(batch);
    const ProcessResult r = belay(
        {"run", manifest(name, "fail_at_batch = " + std::to_string(batch) + "\nonce = \"" + name + ".marker\"\n")});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(lines_with(r.err, "recovery 1: ").size(), 1u) << r.err;
    EXPECT_EQ(lines_with(r.err, "the connection was lost").size(), 1u) << r.err;
    EXPECT_EQ(weights(temp / name, 120), weights(temp / "whole", 120)) << "batch " << batch;
  }
}

TEST_F(ResumeTest, AnInputThatKeepsAbortingEndsTheRunAfterTheLimit) {
  const ProcessResult r =
      belay({"run", regression("fail_at_batch = 3\nexamples = 10\n", "[session]\nmax_recoveries = 0\n")});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_EQ(lines_with(r.err, "gave up after 0 recoveries in a row").size(), 1u) << r.err;
}

TEST_F(ResumeTest, WatchingChangesNoBit) {
  ASSERT_EQ(belay({"run", hard("alone")}).status, 0);
  std::string ten;
  for (int i = 0; i < 10; ++i)
    ten +=
        "[[hooks]]\nplugin = \"logging_tensor\"\ntensors = [\"loss\"]\nevery_n_iter = " + std::to_string(i + 1) + "\n";
  const ProcessResult hooks = belay({"run", hard("hooks", ten)});
  ASSERT_EQ(hooks.status, 0) << hooks.err;
  EXPECT_EQ(final_weights("hooks"), final_weights("alone"));
  const ProcessResult all = belay({"run", hard("all", "[[hooks]]\nplugin = \"trouble\"\nfetches = 1\n")});
  ASSERT_EQ(all.status, 0) << all.err;
  const auto fetched = lines_with(all.err, "trouble: fetches ");
  ASSERT_EQ(fetched.size(), 1u) << all.err;
  EXPECT_GE(std::stoi(fetched[0].substr(fetched[0].find("fetches ") + 8)), 100)
      << "all that the graph names, not a few";
  EXPECT_EQ(final_weights("all"), final_weights("alone"));
}

TEST_F(ResumeTest, ARunThatIsDoneTrainsNoFurther) {
  ASSERT_EQ(belay({"run", regression()}).status, 0);
  const std::string before = weights(run_dir(), 50);
  const ProcessResult again = belay({"run", regression()});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(lines_with(again.err, "step 50 is already at max_steps = 50"), ::testing::SizeIs(2))
      << "as it begins and ends";
  EXPECT_EQ(weights(run_dir(), 50), before);
  EXPECT_TRUE(lines_with(again.err, "saved ").empty()) << again.err;
}

// A checkpoint is a new directory each time it is written.
TEST_F(ResumeTest, WhatWasJustRestoredIsNotSavedAgain) {
  const std::string manifest = regression("delay_secs = 0.002\n", "", 2000);
  BelayProcess first({"run", manifest});
  ASSERT_TRUE(first.wait_for("progress: step ")) << first.wait().err;
  first.kill(SIGTERM);
  const ProcessResult stopped = first.wait();
  ASSERT_EQ(stopped.signal, SIGTERM) << stopped.err;
  int last = 0;
  for (const std::string& name : listing(run_dir()))
    if (name.starts_with("model.ckpt-")) last = std::max(last, std::stoi(name.substr(name.find('-') + 1)));
  ASSERT_GT(last, 0) << stopped.err;
  const std::string checkpoint = run_dir() + "/model.ckpt-" + std::to_string(last);
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat(checkpoint.c_str(), &before), 0);
  const ProcessResult again = belay({"run", manifest, "-v"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(lines_with(again.err, "restored step " + std::to_string(last)).size(), 1u) << again.err;
  EXPECT_EQ(
      lines_with(again.err, "model.ckpt-" + std::to_string(last) + " holds this state: nothing is written").size(), 1u)
      << again.err;
  EXPECT_EQ(lines_with(again.err, "saved ").size(), 1u) << "at the end: " << again.err;
  ASSERT_EQ(::stat(checkpoint.c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(after.st_ctim.tv_nsec, before.st_ctim.tv_nsec);
}

TEST_F(ResumeTest, ARunThatIsDoneIsNotEvaluatedAgain) {
  const std::string eval = "[input.eval]\nplugin = \"numbers\"\nepochs = 1\n";
  for (const std::string& also : {std::string(), std::string("[eval]\nevery_steps = 20\n")}) {
    std::filesystem::remove_all(run_dir());
    const ProcessResult first = belay({"run", regression("", eval + also)});
    ASSERT_EQ(first.status, 0) << first.err;
    EXPECT_FALSE(first.out.empty());
    const std::string metrics = contents(run_dir() + "/metrics.jsonl");
    const ProcessResult again = belay({"run", regression("", eval + also)});
    EXPECT_EQ(again.status, 0) << again.err;
    EXPECT_EQ(again.out, first.out);
    EXPECT_EQ(lines_with(again.err, "nothing was trained, and these weights have been evaluated").size(), 1u)
        << again.err;
    const std::string behind = contents(run_dir() + "/metrics.jsonl").substr(metrics.size());
    EXPECT_EQ(behind.find("evaluation"), std::string::npos) << behind;
    // Other data, or other weights, are evaluated.
    const std::string other = "[input.eval]\nplugin = \"numbers\"\nepochs = 1\nexamples = 7\n";
    const ProcessResult changed = belay({"run", regression("", other + also)});
    EXPECT_EQ(changed.status, 0) << changed.err;
    EXPECT_NE(changed.out, first.out);
  }
}

TEST_F(ResumeTest, ADamagedNewestCheckpointIsNamedAndTheOneBeforeIsUsed) {
  ASSERT_EQ(belay({"run", regression("", "[checkpoint]\nsave_steps = 10\n")}).status, 0);
  std::filesystem::resize_file(run_dir() + "/model.ckpt-50/model.safetensors", 20);
  const ProcessResult r = belay({"run", regression("", "[checkpoint]\nsave_steps = 10\n", 60)});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(lines_with(r.err, "model.ckpt-50").size() > 0, true) << r.err;
  EXPECT_EQ(lines_with(r.err, "restored step 40 ").size(), 1u) << r.err;
  EXPECT_TRUE(std::filesystem::exists(run_dir() + "/model.ckpt-50") || !weights(run_dir(), 50).empty());
}

}  // namespace
}  // namespace belay::runtime::testing
