// SPDX-License-Identifier: Apache-2.0
// Some things are the same on all processes of a run. A difference is reported.
#include <signal.h>

#include <filesystem>

#include "tests/e2e/ranks_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RanksAgree : public Ranks {
 protected:
  static std::string saving(int steps) { return "[checkpoint]\nsave_steps = " + std::to_string(steps) + "\n"; }
  static std::string meddler(const std::string& options) {
    return "[[hooks]]\nplugin = \"meddler\"\nevery_n_steps = 7\n" + options;
  }
  static std::string with_rows(int rows, int first = 0) {
    std::string text = "x,y\n";
    for (int i = 0; i < rows; ++i)
      text += std::to_string((first + i) % 10) + "," + std::to_string((first + i) % 7) + "\n";
    return text;
  }
  // A machine's folder with the manifest and data.csv; the run's directory is of all.
  std::string data_in(const std::string& folder, const std::string& file, const std::string& data) const {
    std::filesystem::create_directory(std::string(temp / folder));
    write_file(temp / (folder + "/data.csv"), data);
    write_file(temp / (folder + "/train.toml"),
               "[run]\ndir = \"" + (temp / "run") +
                   "\"\nmax_steps = 5\nthreads = 1\n[input.train]\nplugin = \"csv\"\n" + "path = \"" + file +
                   "\"\nlabel = \"y\"\nbatch_size = 4\n[model]\nplugin = \"linear\"\n" +
                   "[optimizer]\nname = \"sgd\"\nlearning_rate = 0.001\n[cluster]\nplugin = \"gloo\"\n");
    return temp / (folder + "/train.toml");
  }
  // A run whose ranks compare their variables after every tenth step.
  std::string hooked(const std::string& dir, const std::string& hook) const {
    return manifest({.dir = dir, .steps = 30, .more = saving(10) + hook});
  }
};

// The chief's hook, and then that of each rank.
TEST_F(RanksAgree, WhatAHookAssignsAllTakeFromTheChief) {
  train(hooked("plain", ""), 3);
  train(hooked("chiefs", meddler("")), 3);
  train(hooked("all", meddler("[session]\nhooks_on_all_ranks = [\"meddler\"]\n")), 3);
  EXPECT_FALSE(weights_of("chiefs", 30).empty());
  EXPECT_EQ(weights_of("chiefs", 30), weights_of("all", 30));
  EXPECT_NE(weights_of("chiefs", 30), weights_of("plain", 30));
}

TEST_F(RanksAgree, WhatAHooksOwnRunWritesAllTakeFromTheChief) {
  train(hooked("plain", ""), 2);
  train(hooked("run", meddler("runs_for = \"logits/kernel\"\n")), 2);
  EXPECT_FALSE(weights_of("run", 30).empty());
  EXPECT_NE(weights_of("run", 30), weights_of("plain", 30));
}

TEST_F(RanksAgree, AVariableThatDiffersIsNamedOnAllBehindACheckpointOr100Steps) {
  for (const int saved : {10, 1000}) {
    const std::string path = manifest({.dir = "run_" + std::to_string(saved), .steps = 150, .more = saving(saved)});
    const std::string after = "after step " + std::to_string(std::min(saved, 100)) + ": ";
    for (const ProcessResult& r : wait_for_all(start_all(path, 2, {"--set", "optimizer.name=uneven"}))) {
      EXPECT_EQ(r.status, 1) << r.err;
      EXPECT_THAT(r.err, AllOf(HasSubstr("the variable 'hidden_1/bias' is not the same on rank 1 and on rank 0 "),
                               HasSubstr(after)));
    }
  }
}

TEST_F(RanksAgree, AnotherManifestOnARankIsRefused) {
  const std::string path = manifest({.dir = "run"});
  const Process chief = start(path, 0, 2);
  const Process worker = start(path, 1, 2, {"--set", "optimizer.learning_rate=0.5"});
  for (const ProcessResult& r : {chief->wait(), worker->wait()}) {
    EXPECT_NE(r.status, 0);
    EXPECT_THAT(r.err, HasSubstr("rank 1 has another manifest than rank 0: optimizer.learning_rate is 0.5 there, and "
                                 "0.05 on rank 0; start all with the same"));
  }
}

TEST_F(RanksAgree, T_164_AKeyThatOneRankAloneHasIsNamed) {
  const std::string path = manifest({.dir = "run"});
  const Process chief = start(path, 0, 2, {"--set", "optimizer.use_nesterov=true"});
  const Process worker = start(path, 1, 2);
  for (const ProcessResult& r : {chief->wait(), worker->wait()}) {
    EXPECT_NE(r.status, 0);
    EXPECT_THAT(r.err, HasSubstr("than rank 0: optimizer.use_nesterov is not set there, and true on rank 0"));
  }
}

// They would meet in different ways, and wait for each other.
TEST_F(RanksAgree, T_164_AWorkerThatIsToWaitForALostRankIsToldThatTheChiefIsNot) {
  const std::string path = manifest({.dir = "run"});
  const Process chief = start(path, 0, 2);
  const ProcessResult worker = start(path, 1, 2, {"--set", "cluster.on_lost_rank=wait"})->wait();
  chief->kill(SIGTERM);
  chief->wait();
  EXPECT_EQ(worker.status, 1) << worker.err;
  EXPECT_THAT(worker.err, HasSubstr("rank 1 has another manifest than rank 0: cluster.on_lost_rank is \"wait\" there, "
                                    "and \"stop\" on rank 0; start all with the same"));
}

// Two machines that have the same manifest, and each its own disk.
TEST_F(RanksAgree, T_162_OtherDataOnARankIsRefusedWithBothFiles) {
  const std::string other_values = with_rows(60, 7);
  for (const std::string& other : {with_rows(49), other_values}) {
    const std::string chiefs = data_in("a", "data.csv", with_rows(60)), workers = data_in("b", "data.csv", other);
    const Process chief = start(chiefs, 0, 2), worker = start(workers, 1, 2);
    for (const ProcessResult& r : {chief->wait(), worker->wait()}) {
      EXPECT_EQ(r.status, 1) << r.err;
      EXPECT_THAT(r.err, AllOf(HasSubstr("rank 1 has other data than rank 0: input.train.path is '" +
                                         (temp / "b/data.csv") + "' with " + std::to_string(other.size()) + " bytes"),
                               HasSubstr(" there, and '" + (temp / "a/data.csv") + "' with "),
                               HasSubstr("name each rank's own by a variable, as in \"part-${RANK}.csv\"")));
    }
  }
  const std::string same = data_in("b", "data.csv", with_rows(60));
  const Process chief = start(temp / "a/train.toml", 0, 2), worker = start(same, 1, 2);
  for (const ProcessResult& r : {chief->wait(), worker->wait()}) {
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, Not(HasSubstr("other data")));
  }
}

TEST_F(RanksAgree, T_162_FilesThatAVariableNamesMayDifferWithAWarning) {
  write_file(temp / "part-0.csv", with_rows(60));
  write_file(temp / "part-1.csv", with_rows(49));
  const std::string path = data_in("a", (temp / "part-${RANK}.csv"), with_rows(1));
  const std::vector<ProcessResult> results = wait_for_all(start_all(path, 2));
  for (const ProcessResult& r : results) EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(lines_with(results[0].err, "rank 1 has other data than rank 0: input.train.path is '").size(), 1U);
  EXPECT_THAT(results[0].err, HasSubstr("; each rank reads its part of the file that it has, 1 of 2"));
}

// The squares of rank 1's errors are no float32.
TEST_F(RanksAgree, T_164_ALossThatIsNotFiniteOnOneRankNamesTheRank) {
  write_file(temp / "part-0.csv", with_rows(16));
  std::string large = "x,y\n";
  for (int i = 0; i < 16; ++i) large += std::to_string(i % 10) + ",1e30\n";
  write_file(temp / "part-1.csv", large);
  const std::string path = data_in("a", temp / "part-${RANK}.csv", with_rows(1));
  write_file(path, replaced(contents(path), "label = \"y\"\n", "label = \"y\"\nlabel_type = \"float\"\n"));
  const std::vector<ProcessResult> results = wait_for_all(start_all(path, 2));
  EXPECT_EQ(results[0].status, 4) << results[0].err;
  for (const ProcessResult& r : results)
    EXPECT_EQ(lines_with(r.err, "the loss of rank 1 is not finite at step 1, and that of the other ranks is").size(),
              1U)
        << r.err;
}

TEST_F(RanksAgree, AModelThatTrainsOtherVariablesOnARankIsRefused) {
  const std::string path = endless("run", 60);
  write_file(path, replaced(contents(path), "plugin = \"linear\"", "plugin = \"one_sided\""));
  for (const ProcessResult& r : wait_for_all(start_all(path, 2))) {
    EXPECT_EQ(r.status, 1) << r.err;
    EXPECT_THAT(r.err,
                AllOf(HasSubstr("buckets of gradients, and rank 0 has "), HasSubstr("the models of the ranks differ")));
  }
}

TEST_F(RanksAgree, AnotherBuildOfAPluginOnARankIsRefused) {
  std::filesystem::create_directory(std::string(temp / "anew"));
  std::filesystem::copy_file(BELAY_BINARY_DIR "/tests/e2e/anew/numbers_anew.so", std::string(temp / "anew/numbers.so"));
  const std::string path = endless("run", 60);
  const Process chief = start(path, 0, 2);
  BelayProcess worker({"run", path}, {"RANK=1", "WORLD_SIZE=2",
                                      "BELAY_PLUGIN_PATH=" + (temp / "anew") + ":" + tested_build() + "/plugins"});
  for (const ProcessResult& r : {chief->wait(), worker.wait()}) {
    EXPECT_NE(r.status, 0);
    EXPECT_THAT(r.err, HasSubstr("rank 1 has another build of the plugin \"input:numbers\" than rank 0"));
  }
}

TEST_F(RanksAgree, AValueThatIsOfOneRankIsMarkedWhereAHookFetchesIt) {
  const std::string mark = "this rank's alone: computed from its rows, not from those of all ranks";
  const std::string shared =
      "[[hooks]]\nplugin = \"logging_tensor\"\nevery_n_iter = 1\ntensors = [\"loss\", \"accuracy\"]\n";
  const std::vector<ProcessResult> plain =
      wait_for_all(start_all(manifest({.dir = "plain", .steps = 5, .more = shared}), 2));
  for (const ProcessResult& r : plain) EXPECT_THAT(r.err, Not(HasSubstr(mark)));
  EXPECT_THAT(plain[0].err, HasSubstr("accuracy = "));
  const std::string own =
      "[[hooks]]\nplugin = \"logging_tensor\"\nevery_n_iter = 1\ntensors = [\"loss\", \"logits/BiasAdd\"]\n";
  const std::string path = manifest({.dir = "run", .steps = 5, .more = own});
  const ProcessResult chief = wait_for_all(start_all(path, 2))[0];
  EXPECT_EQ(chief.status, 0) << chief.err;
  EXPECT_EQ(lines_with(chief.err, mark).size(), 1U) << chief.err;
  EXPECT_THAT(chief.err, HasSubstr("logging_tensor: 'logits/BiasAdd:0' is this rank's alone"));
  EXPECT_THAT(belay({"run", path, "--set", "run.dir=\"one\""}).err, Not(HasSubstr(mark)));
}

// The other ranks would take its batch for one of their next step.
TEST_F(RanksAgree, AHookThatTakesABatchByItselfIsRefused) {
  const std::string path = manifest({.dir = "run", .steps = 30, .more = meddler("runs = \"loss\"\n")});
  const std::vector<ProcessResult> results = wait_for_all(start_all(path, 2));
  EXPECT_EQ(results[0].status, 1) << results[0].err;
  EXPECT_NE(results[1].status, 0) << results[1].err;
  EXPECT_THAT(results[0].err, HasSubstr("\"meddler\" runs what needs a batch of the training's input, in after_run"));
}

TEST_F(RanksAgree, GradientsOfSomeOfTheRanksCannotBeAskedFor) {
  const ProcessResult r = belay({"check", manifest({.dir = "run", .more = "replicas_to_aggregate = 2\n"})});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, AllOf(HasSubstr("\"replicas_to_aggregate\""), HasSubstr("a step has the gradients of all ranks")));
}

}  // namespace
}  // namespace belay::runtime::testing
