// SPDX-License-Identifier: Apache-2.0
// `belay reduce`: the smallest manifest and data that end with the same error as a run.
#include <filesystem>
#include <map>
#include <string>

#include "tests/e2e/reduce_fixture.h"

namespace belay::runtime::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

std::map<std::string, std::string> files_of(const std::string& dir) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(dir))
    files[entry.path().string()] = entry.is_regular_file() ? contents(entry.path().string()) : "";
  return files;
}

TEST_F(ReduceTest, ANanInTheDataComesDownToItsExample) {
  const std::string manifest = noise(2500, 2317, 1, eight_layers_nine_hooks());
  const ProcessResult run = belay({"run", manifest});
  ASSERT_EQ(run.status, 4) << run.err;
  const auto before = files_of(run_dir());
  const ProcessResult r = reduce();
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("1 batch of 1 example")) << r.err;
  EXPECT_EQ(files_of(run_dir()), before);
  EXPECT_THAT(small_manifest(), Not(HasSubstr("hooks")));
  EXPECT_THAT(small_manifest(), Not(HasSubstr("hidden"))) << "the model's default has two layers at most";
  EXPECT_THAT(small_manifest(), HasSubstr("max_steps = 1\n"));
  EXPECT_FALSE(fs::exists(small() + "/start"));
  const ProcessResult again = belay({"run", small() + "/manifest.toml"});
  EXPECT_EQ(again.status, 4) << again.err;
  EXPECT_THAT(again.err, HasSubstr("'loss' is nan at step 1: training has diverged"));
  EXPECT_THAT(contents(small() + "/README.txt"), HasSubstr("belay run manifest.toml"));
}

// The error grows by 2 % in each step; from new variables it would take as many steps again.
TEST_F(ReduceTest, AStateThatGrewIsTakenAlong) {
  write_npy<float>(temp / "x.npy", "<f4", "2, 1", {1, -1});
  write_npy<float>(temp / "y.npy", "<f4", "2,", {1, 1});
  write_file(temp / "train.toml",
             "[run]\ndir = \"run\"\nmax_steps = 9000\nthreads = 1\n"
             "[input.train]\nplugin = \"npy\"\nfeatures = \"x.npy\"\nlabels = \"y.npy\"\nbatch_size = 2\n"
             "[model]\nplugin = \"linear\"\n[optimizer]\nname = \"sgd\"\nlearning_rate = 1.01\n"
             "[checkpoint]\nsave_steps = 500\n[[hooks]]\nplugin = \"lr_monitor\"\n");
  const ProcessResult run = belay({"run", temp / "train.toml"});
  ASSERT_EQ(run.status, 4) << run.err;
  const ProcessResult r = reduce();
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(fs::exists(small() + "/start/state")) << r.err;
  EXPECT_THAT(small_manifest(), HasSubstr("plugin = \"warm_start\""));
  const ProcessResult again = belay({"run", small() + "/manifest.toml"});
  EXPECT_EQ(again.status, 4) << again.err;
}

// The hook throws at a step's number, which a case that begins anew does not come to.
TEST_F(ReduceTest, AFailureAtAStepsNumberGoesOnFromTheCheckpoint) {
  const std::string manifest = regression("",
                                          "[checkpoint]\nsave_steps = 20\n[[hooks]]\nplugin = \"lr_monitor\"\n"
                                          "[[hooks]]\nplugin = \"trouble\"\nthrow_at_step = 47\n");
  const ProcessResult run = belay({"run", manifest});
  ASSERT_EQ(run.status, 1) << run.err;
  const ProcessResult r = reduce();
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(small_manifest(), HasSubstr("plugin = \"trouble\"\nthrow_at_step = 47"));
  EXPECT_THAT(small_manifest(), Not(HasSubstr("lr_monitor")));
  EXPECT_THAT(r.out, HasSubstr("manifest.toml --resume=changed"));
  const ProcessResult again = belay({"run", small() + "/manifest.toml", "--resume=changed"});
  EXPECT_EQ(again.status, 1) << again.err;
  EXPECT_THAT(again.err, HasSubstr("boom"));
}

TEST_F(ReduceTest, ARunThatDoesNotFailIsSaidToBeSo) {
  ASSERT_EQ(belay({"run", regression()}).status, 0);
  const ProcessResult r = reduce();
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, HasSubstr("does not fail any more: it came to its end from step 50"));
  EXPECT_FALSE(fs::exists(small()));
}

TEST_F(ReduceTest, WhatIsNoRunAndAFolderThatIsThereAreRefused) {
  const ProcessResult none = reduce();
  EXPECT_EQ(none.status, 2) << none.err;
  EXPECT_THAT(none.err, HasSubstr("belay reduce wants the directory of a run that ended with an error"));
  fs::create_directories(small());
  const ProcessResult there = reduce();
  EXPECT_EQ(there.status, 2);
  EXPECT_THAT(there.err, HasSubstr("is there; name another folder by --out DIR2"));
  EXPECT_THAT(belay({"reduce", "x", "--timeout", "0"}).err, HasSubstr("--timeout must be above 0"));
}

}  // namespace
}  // namespace belay::runtime::testing
