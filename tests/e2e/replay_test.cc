// SPDX-License-Identifier: Apache-2.0
// `belay replay`: a step of a run again, with hooks that were not there, and the proof that it is the same.
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class ReplayTest : public RunTest {
 protected:
  using Arguments = std::vector<std::string>;

  // Digits through a net with dropout; 2,000 steps, a checkpoint every 500.
  std::string digits(const std::string& more = "") {
    const std::string path = temp / "train.toml";
    write_file(path,
               "[run]\ndir = \"run\"\nmax_steps = 2000\nthreads = 1\n"
               "[input.train]\nplugin = \"digits\"\nsplit = \"train\"\nbatch_size = 16\nshuffle = true\n"
               "[model]\nplugin = \"mlp\"\nhidden = [32]\ndropout = 0.2\n"
               "[optimizer]\nname = \"adam\"\nlearning_rate = 0.001\n"
               "[checkpoint]\nsave_steps = 500\nmax_to_keep = 10\n" +
                   more);
    return path;
  }
  // 50 steps of a regression with checkpoints of the steps 0, 20, 40 and 50.
  ProcessResult run_short(const std::string& more = "") {
    return belay({"run", regression("shuffle = true\n", "[checkpoint]\nsave_steps = 20\nmax_to_keep = 10\n" + more)});
  }
  ProcessResult replay(const std::string& step, Arguments more = {}) {
    Arguments args{"replay", run_dir(), "--step", step, "--out", again()};
    args.insert(args.end(), more.begin(), more.end());
    fs::remove_all(again());
    return belay(args);
  }
  std::string again() const { return temp / "again"; }

  // Every file below a directory, with what is in it.
  static std::map<std::string, std::string> files_of(const std::string& dir) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(dir))
      files[entry.path().string()] = entry.is_regular_file() ? contents(entry.path().string()) : "";
    return files;
  }
  // Names and shapes in an archive of numpy's.
  static std::map<std::string, std::string> arrays_of(const std::string& file) {
    const ProcessResult r = belay({"checkpoint", "show", file, "--json"});
    EXPECT_EQ(r.status, 0) << r.err;
    std::map<std::string, std::string> arrays;
    const auto shown = nlohmann::json::parse(r.out, nullptr, false);
    if (shown.is_object())
      for (const auto& tensor : shown.at("tensors")) arrays[tensor.at("name")] = tensor.at("shape").dump();
    return arrays;
  }
  // The steps at which each tag has a point.
  static std::map<std::string, std::set<int>> points_of(const std::string& dir, const std::string& tag) {
    const ProcessResult r = belay({"events", dir, "--tag", tag, "--csv"});
    EXPECT_EQ(r.status, 0) << r.err;
    std::map<std::string, std::set<int>> points;
    std::istringstream rows(r.out);
    std::string row;
    std::getline(rows, row);
    while (std::getline(rows, row)) {
      std::vector<std::string> cells;
      std::istringstream text(row);
      for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
      if (cells.size() > 4) points[cells[2]].insert(std::stoi(cells[4]));
    }
    return points;
  }
  void expect_step_1337_again() {
    const auto before = files_of(run_dir());
    const ProcessResult r = replay("1337", {"--hook", "gradient_norms", "--fetch", "loss", "--batch"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.out, "0 differing bits at step 1500: model.ckpt-1500 is what this came to\n") << r.err;
    EXPECT_THAT(lines_with(r.err, "restored step 1000 from "), ::testing::SizeIs(1)) << r.err;
    EXPECT_THAT(r.err, Not(HasSubstr("warning"))) << r.err;
    EXPECT_TRUE(files_of(run_dir()) == before);
    const auto norms = points_of(again(), "gradient_norm");
    EXPECT_THAT(norms.size(), ::testing::Eq(5u));  // of two layers' kernels and biases, and of all together
    for (const auto& [tag, steps] : norms) EXPECT_THAT(steps, ElementsAre(1337)) << tag;
    const auto arrays = arrays_of(again() + "/step-1337.npz");
    EXPECT_EQ(arrays.at("loss"), "[]");
    EXPECT_EQ(arrays.size(), 3u);
    for (const auto& [name, shape] : arrays) {
      if (name == "loss") continue;
      EXPECT_TRUE(name.rfind("batch/", 0) == 0 && shape.rfind("[16", 0) == 0) << name << " " << shape;
    }
  }
};

TEST_F(ReplayTest, AStepHasItsGradientNormsAndItsBatchAfterwardsAndIsProved) {
  const ProcessResult r = belay({"run", digits()});
  ASSERT_EQ(r.status, 0) << r.err;
  expect_step_1337_again();
}

TEST_F(ReplayTest, TheSameBehindAKillOfTheRun) {
  {
    BelayProcess run({"run", digits()});
    ASSERT_TRUE(run.wait_until([&] { return fs::exists(run_dir() + "/model.ckpt-1000"); }));
    run.kill(SIGKILL);
    ASSERT_EQ(run.wait().signal, SIGKILL);
  }
  const ProcessResult r = belay({"run", digits()});
  ASSERT_EQ(r.status, 0) << r.err;
  expect_step_1337_again();
}

// Its lock is not taken, and it continues.
TEST_F(ReplayTest, ARunThatGoesOnMayBeLookedAt) {
  BelayProcess run({"run", regression("shuffle = true\n", "[checkpoint]\nsave_steps = 20\nmax_to_keep = 100000\n"),
                    "--set", "run.max_steps=1000000"});
  ASSERT_TRUE(run.wait_until([&] { return fs::exists(run_dir() + "/model.ckpt-40/state"); }));
  const ProcessResult r = replay("30", {"--hook", "gradient_norms"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, StartsWith("0 differing bits at step 40:")) << r.err;
  run.kill(SIGTERM);
  const ProcessResult end = run.wait();
  EXPECT_EQ(end.signal, SIGTERM) << end.err;
}

TEST_F(ReplayTest, SeveralStepsAndADigestAsTheProof) {
  ASSERT_EQ(run_short("[[hooks]]\nplugin = \"state_digest\"\nevery_n_steps = 10\n").status, 0);
  const ProcessResult r = replay("23", {"--to", "25", "--fetch", "loss"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, "0 differing bits at step 31: the digest in metrics.jsonl is what this came to\n") << r.err;
  std::vector<std::string> archives;
  for (const std::string& name : listing(again()))
    if (name.ends_with(".npz")) archives.push_back(name);
  EXPECT_THAT(archives, ElementsAre("step-23.npz", "step-24.npz", "step-25.npz"));
}

// The states of the run's own hooks in checkpoints belong to none here, and a hook that changes numbers runs again.
TEST_F(ReplayTest, HooksOfTheRunThatOnlyWatchAreLeftOutAndTheOthersAreThere) {
  const std::string hooks =
      "[[hooks]]\nplugin = \"gradient_norms\"\nevery_n_steps = 7\n"
      "[[hooks]]\nplugin = \"parameter_schedule\"\nvariable = \"learning_rate_scale\"\nsteps = [0, 30]\n"
      "values = [1.0, 0.5]\nlinear = true\n";
  const ProcessResult run = run_short(hooks);
  ASSERT_EQ(run.status, 0) << run.err;
  const ProcessResult r = replay("33", {"--hook", "gradient_norms{per_variable = false}"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, StartsWith("0 differing bits at step 40:")) << r.err;
  EXPECT_THAT(r.err, Not(HasSubstr("which this run has not got")));
  const auto norms = points_of(again(), "gradient_norm");
  ASSERT_EQ(norms.size(), 1u);
  EXPECT_THAT(norms.at("gradient_norm"), ElementsAre(33));
  EXPECT_THAT(listing(again()), Not(Contains("model.ckpt-40")));
  EXPECT_THAT(listing(again()), Not(Contains("metrics.jsonl")));
}

TEST_F(ReplayTest, HooksMayBeInAFile) {
  ASSERT_EQ(run_short().status, 0);
  write_file(temp / "eyes.toml",
             "[[hooks]]\nplugin = \"histograms\"\n[[hooks]]\nplugin = \"csv_logger\"\n"
             "tensors = [\"loss\"]\nevery_n_steps = 1\n");
  const ProcessResult r = replay("23", {"--to", "24", "--hooks", temp / "eyes.toml"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, StartsWith("0 differing bits at step 40:")) << r.err;
  EXPECT_FALSE(points_of(again(), "weights").empty());
}

// The run's end put its averages in the place of the weights; the steps are those before it.
TEST_F(ReplayTest, TheLastStepOfARunThatEndedWithItsAveragesIsTheSame) {
  ASSERT_EQ(run_short("[[hooks]]\nplugin = \"weight_averaging\"\n").status, 0);
  const ProcessResult r = replay("45");
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, StartsWith("0 differing bits at step 50:")) << r.err;
}

TEST_F(ReplayTest, WhereNothingLiesBehindItSaysSo) {
  ASSERT_EQ(run_short().status, 0);
  fs::remove_all(run_dir() + "/model.ckpt-50");
  const ProcessResult r = replay("45", {"--fetch", "loss"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out,
            "no checkpoint and no digest lies at step 45 or after it: nothing proves that these steps are the run's\n");
  EXPECT_TRUE(fs::exists(again() + "/step-45.npz"));
}

TEST_F(ReplayTest, OtherBitsAreSaidAndEndWithStatusOne) {
  ASSERT_EQ(run_short("[[hooks]]\nplugin = \"state_digest\"\nevery_n_steps = 10\n").status, 0);
  const std::string path = run_dir() + "/metrics.jsonl";
  std::string text = contents(path);
  const std::size_t at = text.find("\"step\":31,\"attempt\":1");
  ASSERT_NE(at, text.npos);
  const std::size_t digest = text.find("\"state_digest\":\"", text.find("\"event\":\"state_digest\"", at)) + 16;
  text[digest] = text[digest] == '0' ? '1' : '0';
  write_file(path, text);
  const ProcessResult r = replay("23");
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.out, AllOf(StartsWith("at step 31 the digest is "),
                           HasSubstr("this is not what the digest in metrics.jsonl is of")));
}

TEST_F(ReplayTest, StepsThatWereNotMadeAndThoseBeforeTheFirstCheckpointAreRefused) {
  ASSERT_EQ(run_short().status, 0);
  ProcessResult r = replay("51");
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the run has made 50 steps, and step 51 is after them")) << r.err;
  fs::remove_all(run_dir() + "/model.ckpt-0");
  r = replay("15");
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(r.err, HasSubstr("has no whole checkpoint before step 15; its first one is model.ckpt-2")) << r.err;
  EXPECT_FALSE(fs::exists(again()));
}

TEST_F(ReplayTest, WhatIsNoDirectoryIsRefusedAndTheMessageSaysWhatIsWanted) {
  const ProcessResult none = belay({"replay", temp / "none", "--step", "1"});
  EXPECT_EQ(none.status, 2);
  EXPECT_EQ(none.err, "error[B5010]: belay replay: there is no '" + (temp / "none") +
                          "'; name a run's directory, which is `run.dir` of its manifest\n");
  write_file(temp / "file", "");
  EXPECT_THAT(belay({"replay", temp / "file", "--step", "1"}).err,
              HasSubstr("'" + (temp / "file") + "' is a file; name a run's directory"));
}

TEST_F(ReplayTest, AnUnknownHookATensorThatIsNotThereAndAFullDirectoryAreRefused) {
  ASSERT_EQ(run_short().status, 0);
  ProcessResult r = replay("30", {"--hook", "gradient_norm"});
  EXPECT_EQ(r.status, 3) << r.err;
  EXPECT_THAT(r.err, HasSubstr("gradient_norms")) << r.err;
  r = replay("30", {"--fetch", "los"});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(r.err, HasSubstr("los")) << r.err;
  EXPECT_THAT(listing(again()), IsEmpty());
  r = belay({"replay", run_dir(), "--step", "30", "--out", run_dir()});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(r.err, HasSubstr("is there and holds something; name another directory by --out")) << r.err;
}

TEST_F(ReplayTest, AHookThatCanChangeANumberIsRefusedByName) {
  ASSERT_EQ(run_short().status, 0);
  const ProcessResult r =
      replay("30", {"--hook", "parameter_schedule{variable = \"learning_rate_scale\", steps = [0], values = [0.5]}"});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the hook \"parameter_schedule\" has options that can change a number")) << r.err;
  EXPECT_FALSE(fs::exists(again()));
}

TEST_F(ReplayTest, AHookThatAssignsIsRefusedByNameUnlessItIsAskedWhatIf) {
  ASSERT_EQ(run_short().status, 0);
  ProcessResult r = replay("30", {"--hook", "meddler"});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the hook \"meddler\" wrote to a variable in after_run")) << r.err;
  EXPECT_EQ(r.out, "");
  r = replay("30", {"--hook", "meddler", "--what-if"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, StartsWith("--what-if: from step 30 on this is another run than ")) << r.err;
  EXPECT_THAT(r.out, HasSubstr(" bits differ, in ")) << r.err;
}

// In the step where it does so: that it watches is its own word, which cannot be checked before.
TEST_F(ReplayTest, AHookThatFeedsIsRefusedByNameUnlessItIsAskedWhatIf) {
  ASSERT_EQ(run_short().status, 0);
  ProcessResult r = replay("30", {"--to", "35", "--hook", "meddler{feed = \"learning_rate\"}"});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.err,
              HasSubstr("hook \"meddler\" (meddler.so 1.0.0, --hook meddler:1) in before_run at step 30: it feeds "
                        "'learning_rate:0', and may only watch; leave that out, or see by --what-if what comes "
                        "of it"));
  EXPECT_EQ(r.out, "");
  r = replay("30", {"--to", "35", "--hook", "meddler{feed = \"learning_rate\"}", "--what-if"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, StartsWith("--what-if: from step 30 on this is another run than ")) << r.err;
  EXPECT_THAT(r.out, HasSubstr(" bits differ, in ")) << r.err;
}

TEST_F(ReplayTest, APluginThatHasChangedIsNamed) {
  fs::create_directory(temp / "plugins");
  const std::string built = BELAY_BINARY_DIR "/tests/e2e/";
  fs::copy_file(built + "plugins/numbers.so", temp / "plugins/numbers.so");
  const std::string path = "[plugins]\npath = [\"" + temp.path() + "/plugins\"]\n";
  ASSERT_EQ(run_short(path).status, 0);
  fs::remove(temp / "plugins/numbers.so");
  fs::copy_file(built + "anew/numbers_anew.so", temp / "plugins/numbers.so");
  ProcessResult r = replay("30");
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the plugin input:numbers has changed: ")) << r.err;
  r = replay("30", {"--what-if"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr(" bits differ, in ")) << r.err;
}

}  // namespace
}  // namespace belay::runtime::testing
