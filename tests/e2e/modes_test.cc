// SPDX-License-Identifier: Apache-2.0
// belay evaluate and belay predict, and evaluations between two steps, through the real program.
#include <zlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/e2e/accuracy_fixture.h"
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
  // What a folder holds, with the bytes of its files.
  static std::map<std::string, std::string> snapshot(const std::string& dir) {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir))
      found[entry.path().string()] = entry.is_regular_file() ? contents(entry.path().string()) : "";
    return found;
  }
};

class ModesData : public Accuracy {
 protected:
  ProcessResult use(const std::string& command, const std::string& example, std::vector<std::string> options,
                    const std::vector<std::string>& sets) {
    std::vector<std::string> args = {command, BELAY_SOURCE_DIR "/examples/" + example, "--set",
                                     "run.dir=\"" + (temp / "run") + "\""};
    for (const std::string& s : sets) args.insert(args.end(), {"--set", s});
    for (std::string& o : options) args.push_back(std::move(o));
    return belay(args, {"BELAY_DATA_DIR=" + data_directory(), "BELAY_SAMPLES_DIR=" + samples_directory()});
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

// The labels of an idx file, compressed.
std::vector<int> labels_of(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::vector<int> labels;
  char header[8];
  if (file != nullptr && gzread(file, header, sizeof(header)) == sizeof(header))
    for (int c = gzgetc(file); c != -1; c = gzgetc(file)) labels.push_back(c);
  if (file != nullptr) gzclose(file);
  return labels;
}

TEST_F(ModesData, PredictedClassesOfMnistHaveExactlyTheAccuracyOfTheEvaluation) {
  NEEDS_DATA("mnist/t10k-labels-idx1-ubyte.gz");
  const std::vector<std::string> sets = {"run.max_steps=100", "run.threads=2"};
  const ProcessResult trained = run("mnist_mlp.toml", sets);
  ASSERT_EQ(trained.status, 0) << trained.err;
  const ProcessResult predicted = use("predict", "mnist_mlp.toml", {"--keys", "class", "--format", "csv"}, sets);
  ASSERT_EQ(predicted.status, 0) << predicted.err;
  const std::vector<int> labels = labels_of(data_directory() + "/mnist/t10k-labels-idx1-ubyte.gz");
  ASSERT_EQ(labels.size(), 10'000u);
  std::istringstream rows(predicted.out);
  std::string row;
  std::getline(rows, row);
  int right = 0;
  std::size_t read = 0;
  for (; std::getline(rows, row); ++read)
    right += read < labels.size() && std::stoi(row.substr(row.find(',') + 1)) == labels[read] ? 1 : 0;
  EXPECT_EQ(read, labels.size());
  const ProcessResult evaluated = use("evaluate", "mnist_mlp.toml", {}, sets);
  ASSERT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_EQ(metric(evaluated.out, "accuracy"), right / 10'000.0) << evaluated.out;
  EXPECT_EQ(evaluated.out, trained.out);
}

TEST_F(ModesData, ASeedIsAText) {
  NEEDS_DATA("shakespeare/tinyshakespeare.txt");
  // Small, since sanitizers make it slow.
  const std::vector<std::string> sets = {"run.max_steps=10", "model.hidden=32", "model.embedding=16", "eval.batches=1"};
  ASSERT_EQ(run("shakespeare_lstm.toml", sets).status, 0);
  const auto text = [&](const std::string& seed) {
    return use("predict", "shakespeare_lstm.toml", {"--prompt", "ROMEO:", "--length", "80", "--seed", seed}, sets).out;
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
