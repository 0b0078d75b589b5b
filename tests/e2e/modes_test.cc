// SPDX-License-Identifier: Apache-2.0
// belay evaluate and belay predict, and evaluations between two steps, through the real program.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/e2e/modes_fixture.h"
#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kExamples = 300;

class ModesTest : public RunTest {
 protected:
  // Digits that are drawn, so without data; `more` are tables.
  std::string digits(const std::string& more = "", int max_steps = 60) {
    const std::string path = temp / "train.toml";
    write_file(path,
               "[run]\ndir = \"run\"\nmax_steps = " + std::to_string(max_steps) +
                   "\nthreads = 2\n[input.train]\nplugin = \"digits\"\nexamples = 500\nbatch_size = 50\nshuffle = "
                   "true\n[input.eval]\nplugin = \"digits\"\nsplit = \"eval\"\nexamples = " +
                   std::to_string(kExamples) +
                   "\nbatch_size = 64\nepochs = 1\n[model]\nplugin = \"mlp\"\nhidden = [16]\n[optimizer]\nname = "
                   "\"adam\"\nlearning_rate = 0.01\n" +
                   more);
    return path;
  }
  static std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  // Returns the content of a folder, with the bytes of its files.
  static std::map<std::string, std::string> snapshot(const std::string& dir) {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir))
      found[entry.path().string()] = entry.is_regular_file() ? contents(entry.path().string()) : "";
    return found;
  }
};

TEST_F(ModesTest, EvaluateSaysWhatTheRunSaidAtItsEndAndChangesNothing) {
  const std::string manifest = digits();
  const ProcessResult run = belay({"run", manifest});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto before = snapshot(run_dir());
  const ProcessResult r = belay({"evaluate", manifest});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, run.out);
  EXPECT_THAT(r.out, HasSubstr("eval at step 60 on 300 examples: loss = "));
  EXPECT_EQ(snapshot(run_dir()), before);
}

TEST_F(ModesTest, EVAL_06_ACheckpointThatIsNotThereIsNamedWithThoseThatAre) {
  const std::string manifest = digits();
  ASSERT_EQ(belay({"run", manifest}).status, 0);
  const ProcessResult r = belay({"evaluate", manifest, "--checkpoint", "17"});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(told(r), HasSubstr("17"));
  EXPECT_THAT(told(r), HasSubstr("60"));
  const ProcessResult none = belay({"evaluate", manifest, "--set", "run.dir=\"elsewhere\""});
  EXPECT_EQ(none.status, 2) << none.err;
  EXPECT_THAT(told(none), HasSubstr("elsewhere"));
}

TEST_F(ModesTest, ItWorksBesideTheRunThatHoldsTheDirectory) {
  const std::string manifest = digits("[checkpoint]\nsave_steps = 20\n", 1'000'000);
  BelayProcess run({"run", manifest});
  ASSERT_TRUE(run.wait_until([&] { return std::filesystem::exists(run_dir() + "/model.ckpt-20"); }));
  const ProcessResult r = belay({"evaluate", manifest});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr(" on 300 examples: loss = "));
  run.kill(SIGTERM);
  run.wait();
}

TEST_F(ModesTest, EachExampleIsALineInTheInputsOrder) {
  const std::string manifest = digits();
  ASSERT_EQ(belay({"run", manifest}).status, 0);
  const ProcessResult r = belay({"predict", manifest});
  ASSERT_EQ(r.status, 0) << r.err;
  const std::vector<std::string> rows = lines(r.out);
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(kExamples));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const nlohmann::json row = nlohmann::json::parse(rows[i]);
    ASSERT_EQ(row["index"], i);
    const auto probabilities = row["probabilities"].get<std::vector<double>>();
    const auto best = std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin();
    EXPECT_EQ(row["class"], best) << rows[i];
  }
}

TEST_F(ModesData, PredictedClassesOfMnistHaveExactlyTheAccuracyOfTheEvaluation) {
  NEEDS_DATA("mnist/t10k-labels-idx1-ubyte.gz");
  const std::vector<std::string> sets = {"run.max_steps=100", "run.threads=2"};
  const ProcessResult trained = run("mnist_mlp.toml", sets);
  ASSERT_EQ(trained.status, 0) << trained.err;
  const ProcessResult predicted =
      use("predict", example("mnist_mlp.toml"), {"--keys", "class", "--format", "csv"}, sets);
  ASSERT_EQ(predicted.status, 0) << predicted.err;
  const ProcessResult evaluated = use("evaluate", example("mnist_mlp.toml"), {}, sets);
  ASSERT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_EQ(metric(evaluated.out, "accuracy"), accuracy_of_classes(predicted.out)) << evaluated.out;
  EXPECT_EQ(evaluated.out, trained.out);
}

TEST_F(ModesData, ASeedIsAText) {
  NEEDS_DATA("shakespeare/tinyshakespeare.txt");
  // Small, since sanitizers make it slow.
  const std::vector<std::string> sets = {"run.max_steps=10", "model.hidden=32", "model.embedding=16", "eval.batches=1"};
  ASSERT_EQ(run("shakespeare_lstm.toml", sets).status, 0);
  const auto text = [&](const std::string& seed) {
    return use("predict", example("shakespeare_lstm.toml"), {"--prompt", "ROMEO:", "--length", "80", "--seed", seed},
               sets)
        .out;
  };
  const std::string one = text("1");
  EXPECT_EQ(one.size(), 6u + 80u + 1u) << one;
  EXPECT_EQ(one.rfind("ROMEO:", 0), 0u) << one;
  EXPECT_EQ(text("1"), one);
  EXPECT_NE(text("2"), one);
}

TEST_F(ModesTest, AFileOfPredictionsAppearsWhole) {
  const std::string manifest = digits();
  ASSERT_EQ(belay({"run", manifest}).status, 0);
  const std::string csv = temp / "out.csv";
  const ProcessResult r = belay({"predict", manifest, "--keys", "class", "--output", csv});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, IsEmpty());
  const std::vector<std::string> rows = lines(contents(csv));
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(kExamples) + 1);
  EXPECT_EQ(rows[0], "index,class");
  EXPECT_THAT(told(r), HasSubstr("predicted 300 examples with DIR/run/model.ckpt-60 in "));
}

TEST_F(ModesTest, AnUnknownPredictionListsThoseThatThereAre) {
  const std::string manifest = digits();
  ASSERT_EQ(belay({"run", manifest}).status, 0);
  const std::string file = temp / "out.jsonl";
  const ProcessResult r = belay({"predict", manifest, "--keys", "clas", "--output", file});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(told(r), HasSubstr("probabilities"));
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_THAT(listing(temp.path()), ElementsAre("run", "train.toml"));
}

TEST_F(ModesTest, ATrainingThatEvaluatesEndsWithTheBitsOfOneThatDoesNot) {
  ASSERT_EQ(belay({"run", digits()}).status, 0);
  const std::string plain = weights(run_dir(), 60);
  ASSERT_FALSE(plain.empty());
  const ProcessResult r = belay({"run",
                                 digits("[eval]\nevery_steps = 20\n[[hooks]]\nplugin = \"csv_logger\"\ntensors = "
                                        "[\"eval/loss\", \"eval/global_step\"]\nevery_n_steps = 30\n"),
                                 "--set", "run.dir=\"watched\""});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(weights(temp / "watched", 60), plain);
  EXPECT_THAT(listing(temp / "watched/eval"), ElementsAre(kEventFile));
}

TEST_F(ModesTest, WhatAHookLooksForInVainIsFoundByCheckWithItsPlace) {
  const std::string manifest = digits(
      "[[hooks]]\nplugin = \"logging_tensor\"\nname = \"seen\"\nevery_n_iter = 10\ntensors = [\"loss\", "
      "\"acuracy\"]\n");
  for (const char* command : {"check", "run"}) {
    const ProcessResult r = belay({command, manifest});
    EXPECT_EQ(r.status, 2) << command << r.err;
    EXPECT_THAT(told(r), HasSubstr("  tensors = [\"loss\", \"acuracy\"]\n            ^")) << command;
    EXPECT_THAT(told(r), HasSubstr("acuracy"));
    EXPECT_FALSE(std::filesystem::exists(run_dir()));
  }
}

TEST_F(ModesTest, AnEvaluationInputThatNeverEndsIsFoundByCheck) {
  const std::string manifest = digits();
  const ProcessResult r = belay({"check", manifest, "--set", "input.eval.epochs=0"});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(told(r), HasSubstr("[input.eval] never ends"));
  EXPECT_THAT(told(r), HasSubstr("epochs = 1"));
  EXPECT_EQ(belay({"check", manifest, "--set", "input.eval.epochs=0", "--set", "eval.batches=3"}).status, 0);
}

// ---- the best ----

// Every evaluation of a run of 50 steps is among the best: those of 20 and 40, and of the last step. The worst accuracy
// counts as the best, so that is the first one.
const char* const kBest =
    "[eval]\nevery_steps = 20\n[checkpoint]\nsave_steps = 20\nkeep_best = 3\nbest_metric = \"eval/accuracy\"\n"
    "best_mode = \"min\"\n";

// The steps in the list, in its order.
std::vector<int> best_steps(const std::string& dir) {
  std::vector<int> steps;
  const nlohmann::json list = nlohmann::json::parse(contents(dir + "/best"));
  for (const nlohmann::json& c : list["checkpoints"]) steps.push_back(c["step"]);
  return steps;
}

TEST_F(ModesTest, TheLastStepIsAmongTheBestToo) {
  const std::string manifest = digits(kBest, 50);
  const ProcessResult run = belay({"run", manifest, "--set", "checkpoint.best_mode=max"});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(best_steps(run_dir()), ElementsAre(50, 40, 20));
  EXPECT_EQ(lines_with(run.err, "eval: step 50: ").size(), 1u) << run.err;
  EXPECT_EQ(belay({"evaluate", manifest, "--checkpoint", "best"}).out, run.out);
  const ProcessResult more = belay({"run", manifest, "--set", "run.max_steps=51", "--set", "checkpoint.best_mode=max",
                                    "--set", "checkpoint.keep_best=4"});
  ASSERT_EQ(more.status, 0) << more.err;
  EXPECT_THAT(best_steps(run_dir()), ::testing::IsSupersetOf({20, 40, 50})) << "its state has it as well";
}

TEST_F(ModesTest, ARunThatEvaluatesAtItsEndOnlyKeepsThatAsTheBest) {
  const ProcessResult r = belay({"run", digits("[checkpoint]\nkeep_best = 1\n")});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(best_steps(run_dir()), ElementsAre(60));
}

TEST_F(ModesTest, TheLastStepIsLeftAsItIsWhereItIsTheBest) {
  const ProcessResult r = belay({"run", digits(std::string(kBest) + "[[hooks]]\nplugin = \"restore_best\"\n", 50),
                                 "--set", "checkpoint.best_mode=max"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(told(r), HasSubstr("restore_best: the last step, 50, is the best one"));
  EXPECT_THAT(best_steps(run_dir()), ElementsAre(50, 40, 20));
}

// Whether the last step was evaluated as one of every 20 or because it is the last.
TEST_F(ModesTest, WhatIsSaidAtTheEndIsOfTheWeightsThatAreSaved) {
  for (const int last : {50, 60}) {
    std::filesystem::remove_all(run_dir());
    const std::string manifest = digits(std::string(kBest) + "[[hooks]]\nplugin = \"restore_best\"\n", last);
    const ProcessResult run = belay({"run", manifest});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(belay({"evaluate", manifest}).out, run.out);
    const ProcessResult best = belay({"evaluate", manifest, "--checkpoint", "best"});
    EXPECT_EQ(best.out.substr(best.out.find(" on ")), run.out.substr(run.out.find(" on ")));
  }
}

TEST_F(ModesTest, ARunThatIsDoneAndStartedAgainLeavesItsBest) {
  const std::string manifest = digits(std::string(kBest) + "[[hooks]]\nplugin = \"restore_best\"\n", 50);
  const ProcessResult run = belay({"run", manifest});
  const std::string list = contents(run_dir() + "/best"), last = weights(run_dir(), 50);
  ASSERT_FALSE(list.empty() || last.empty()) << run.err;
  const ProcessResult again = belay({"run", manifest});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(contents(run_dir() + "/best"), list);
  EXPECT_EQ(weights(run_dir(), 50), last);
  EXPECT_EQ(again.out, run.out);
}

TEST_F(ModesTest, AFailureOfTheLastEvaluationLosesNoCheckpoint) {
  const ProcessResult r =
      belay({"run", regression("",
                               "[input.eval]\nplugin = \"numbers\"\nexamples = 64\nepochs = 1\nfail_at_batch = 2\n"
                               "fail_with = \"data_loss\"\n[checkpoint]\nkeep_best = 1\n")});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(told(r), HasSubstr("ended at step 50 (50 steps"));
  EXPECT_THAT(told(r), HasSubstr("error[B2046]: the evaluation failed: the evaluation of step 50 on [input.eval]: "));
  EXPECT_FALSE(weights(run_dir(), 50).empty());
  EXPECT_THAT(best_steps(run_dir()), IsEmpty());
}

// Killed after the checkpoint of step 20 and before its evaluation.
TEST_F(ModesTest, AnEvaluationThatAKillLeftOutIsAmongTheBest) {
  const std::string manifest = digits(std::string(kBest) + "[[hooks]]\nplugin = \"trouble\"\n", 50);
  ASSERT_EQ(belay({"run", manifest, "--set", "run.dir=\"whole\""}).status, 0);
  const ProcessResult killed = belay({"run", manifest, "--set", "hooks.0.dies_in=after_save", "--set",
                                      "hooks.0.dies_at=2", "--set", "checkpoint.save=sync"});
  ASSERT_EQ(killed.signal, SIGKILL) << killed.err;
  ASSERT_EQ(lines_with(killed.err, "eval: step 20").size(), 0u) << killed.err;
  const ProcessResult r = belay({"run", manifest});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(contents(run_dir() + "/best"), contents(temp / "whole/best"));
  EXPECT_EQ(weights(run_dir(), 20), weights(temp / "whole", 20));
}

TEST_F(ModesTest, ABestMetricThatNoEvaluationHasIsFoundByCheckWithItsPlace) {
  const std::string manifest =
      digits("[checkpoint]\nkeep_best = 1\nbest_metric = \"eval/acuracy\"\nbest_mode = \"max\"\n");
  for (const char* command : {"check", "run"}) {
    const ProcessResult r = belay({command, manifest});
    EXPECT_EQ(r.status, 2) << command << r.err;
    EXPECT_THAT(
        told(r),
        HasSubstr("train.toml:24:15: error[B5029]: the best checkpoints are those by \"eval/acuracy\", which no "
                  "evaluation has\n  best_metric = \"eval/acuracy\"\n                ^~~~~~~~~~~~~~\n"
                  "  help: did you mean \"eval/accuracy\"?\n"))
        << command;
    EXPECT_FALSE(std::filesystem::exists(run_dir()));
  }
  const ProcessResult far = belay({"check", manifest, "--set", "checkpoint.best_metric=\"eval/perplexity\""});
  EXPECT_EQ(far.status, 2) << far.err;
  EXPECT_THAT(told(far), HasSubstr("help: there are: eval/loss, eval/accuracy\n"));
}

TEST_F(ModesTest, ABestMetricOfAnInputThatIsNotEvaluatedIsFoundByCheck) {
  const std::string manifest = digits(
      "[input.eval_hard]\nplugin = \"digits\"\nepochs = 1\n[eval]\ninputs = [\"eval_hard\"]\n[checkpoint]\nkeep_best = "
      "1\n");
  const ProcessResult r = belay({"check", manifest});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(told(r), HasSubstr("keep_best = 1\n              ^\n"));
  EXPECT_THAT(told(r), HasSubstr("those by \"eval/loss\", which no evaluation has"));
  EXPECT_EQ(belay({"check", manifest, "--set", "checkpoint.best_metric=\"eval_hard/loss\""}).status, 0);
}

TEST_F(ModesTest, AnInputThatNothingReadsIsAnError) {
  const std::string manifest = digits("[input.evel]\nplugin = \"digits\"\n");
  const ProcessResult r = belay({"check", manifest});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(told(r), HasSubstr("nothing reads [input.evel]"));
  EXPECT_THAT(told(r), HasSubstr("did you mean \"eval\"?"));
}

TEST_F(ModesTest, APieceOfTheScaffoldIsTakenByItsNameOrRefusedWithItsPlace) {
  const std::string manifest = digits("[scaffold]\nsummary_op = \"loss_summary\"\n");
  const ProcessResult r = belay({"check", manifest});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("summary_op loss_summary"));
  EXPECT_EQ(belay({"run", manifest}).status, 0);
  const ProcessResult wrong = belay({"check", manifest, "--set", "scaffold.summary_op=\"los_summary\""});
  EXPECT_EQ(wrong.status, 2) << wrong.err;
  EXPECT_THAT(told(wrong), HasSubstr("los_summary"));
}

TEST_F(ModesTest, MetricsOfTheManifestArePrinted) {
  const ProcessResult r =
      belay({"run", digits("[[metrics]]\nkind = \"accuracy\"\nname = \"again\"\nlabels = \"label\"\n"
                           "predictions = \"class\"\n")});
  ASSERT_EQ(r.status, 0) << r.err;
  const auto value = [&](const std::string& name) {
    const std::size_t at = r.out.find(name + " = ");
    return at == r.out.npos ? -1 : std::stod(r.out.substr(at + name.size() + 3));
  };
  EXPECT_GE(value("accuracy"), 0) << r.out;
  EXPECT_EQ(value("again"), value("accuracy")) << r.out;
}

}  // namespace
}  // namespace belay::runtime::testing
