// SPDX-License-Identifier: Apache-2.0
// The results of evaluations of real runs, and the report of check about settings that need one of them.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kConfusion =
    "[[metrics]]\nkind = \"confusion_matrix\"\nname = \"confusion\"\nclasses = 10\nlabels = \"label\"\npredictions = "
    "\"class\"\n";

class EvaluatedMetrics : public RunTest {
 protected:
  // Digits that are drawn, 300 of them evaluated in batches of 64; `more` are tables.
  std::string digits(const std::string& more = "") const {
    const std::string path = temp / "train.toml";
    write_file(path,
               "[run]\ndir = \"run\"\nmax_steps = 40\nthreads = 1\n[input.train]\nplugin = \"digits\"\nexamples = 500\n"
               "batch_size = 50\nshuffle = true\n[input.eval]\nplugin = \"digits\"\nsplit = \"eval\"\nexamples = 300\n"
               "batch_size = 64\nepochs = 1\n[model]\nplugin = \"mlp\"\nhidden = [16]\n[optimizer]\nname = \"adam\"\n"
               "learning_rate = 0.01\n" +
                   more);
    return path;
  }
  // That check and run name it, with this line and this under it, with status 2.
  void expect_found(const std::string& manifest, const std::string& message, const std::string& lines) const {
    for (const char* command : {"check", "run"}) {
      const ProcessResult r = belay({command, manifest});
      EXPECT_EQ(r.status, 2) << command << r.err;
      EXPECT_THAT(told(r), HasSubstr(message)) << command;
      EXPECT_THAT(told(r), HasSubstr(lines)) << command;
      EXPECT_FALSE(std::filesystem::exists(run_dir())) << command;
    }
  }
};

// ---- a matrix

TEST_F(EvaluatedMetrics, T_123_AConfusionMatrixIsATableInLogEventsMetricsAndReport) {
  const std::string manifest = digits(std::string("[eval]\nevery_steps = 20\n") + kConfusion);
  const ProcessResult r = belay({"run", manifest});
  ASSERT_EQ(r.status, 0) << r.err;
  const char* const title = "  confusion, labels by row and predictions by column:\n         0   1   2   3";
  EXPECT_THAT(r.out, HasSubstr(title));
  EXPECT_THAT(lines_with(r.err, "confusion, labels by row and predictions by column:"), SizeIs(2)) << r.err;
  const ProcessResult events = belay({"events", run_dir() + "/eval", "--tag", "confusion", "--json"});
  ASSERT_EQ(events.status, 0) << events.err;
  const auto points = nlohmann::json::parse(events.out);
  ASSERT_EQ(points.size(), 2u) << events.out;
  const auto matrix = points[1]["value"].get<std::vector<std::vector<double>>>();
  EXPECT_EQ(matrix.size(), 10u);
  double all = 0, right = 0;
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    for (const double n : matrix[i]) all += n;
    right += matrix[i].at(i);
  }
  EXPECT_EQ(all, 300);
  nlohmann::json last;
  std::ifstream file(run_dir() + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);)
    if (line.find("eval/confusion") != line.npos) last = nlohmann::json::parse(line);
  EXPECT_EQ(last["eval/confusion"].get<std::vector<std::vector<double>>>(), matrix);
  EXPECT_EQ(last["eval/accuracy"], right / all);
  const ProcessResult report = belay({"report", run_dir()});
  ASSERT_EQ(report.status, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("eval/confusion at step 40:\n"));
  EXPECT_THAT(contents(run_dir() + "/report.html"), HasSubstr("<h3>eval/confusion, step 40</h3>"));
  EXPECT_EQ(belay({"evaluate", manifest}).out, r.out);
  EXPECT_EQ(belay({"run", manifest}).out, r.out) << "as it was found before";
}

TEST_F(EvaluatedMetrics, WhoWantsANumberOfAMatrixIsToldSo) {
  expect_found(digits(std::string("[eval]\nevery_steps = 20\n") + kConfusion +
                      "[[hooks]]\nplugin = \"early_stopping\"\ntensor = \"eval/confusion\"\n"),
               "the metric is a matrix, no number", "\n  tensor = \"eval/confusion\"\n           ^");
  expect_found(digits(std::string("[checkpoint]\nkeep_best = 1\nbest_metric = \"eval/confusion\"\nbest_mode = "
                                  "\"min\"\n") +
                      kConfusion),
               "those by \"eval/confusion\", which is a matrix, no number", "\n  best_metric = \"eval/confusion\"\n");
}

// ---- numbers

// Batches of 64 and of 44: a mean of their means in float32 is another number.
TEST_F(EvaluatedMetrics, AnAccuracyIsTheNumberOfThoseThatAreRightOverAll) {
  for (const int batch : {300, 64, 7}) {
    std::filesystem::remove_all(run_dir());
    const ProcessResult r = belay(
        {"run", digits(), "--set", "input.eval.batch_size=" + std::to_string(batch), "--set", "run.max_steps=20"});
    ASSERT_EQ(r.status, 0) << r.err;
    double accuracy = -1;
    std::ifstream file(run_dir() + "/metrics.jsonl");
    for (std::string line; std::getline(file, line);)
      accuracy = nlohmann::json::parse(line).value("eval/accuracy", accuracy);
    EXPECT_GT(accuracy, 0) << batch;
    EXPECT_EQ(accuracy, std::round(accuracy * 300) / 300) << batch;
  }
}

// ---- undefined ones

// A table whose evaluation has the class "no" alone, or no weight.
class UndefinedMetricsOfRuns : public RunTest {
 protected:
  static constexpr const char* kWatched =
      "[checkpoint]\nkeep_best = 1\nbest_metric = \"eval/auc\"\n"
      "[[hooks]]\nplugin = \"early_stopping\"\ntensor = \"eval/auc\"\npatience = 100\n";

  std::string table(const std::string& weight, const std::string& more = "") const {
    std::string train = "x,w,y\n", held_out = "x,w,y\n";
    for (int i = 0; i < 20; ++i) {
      train += std::to_string(i % 7) + ",1," + (i % 7 > 3 ? "yes\n" : "no\n");
      held_out += std::to_string(i % 7) + "," + weight + ",no\n";
    }
    write_file(temp / "train.csv", train);
    write_file(temp / "eval.csv", held_out);
    const std::string path = temp / "table.toml";
    write_file(path,
               "[run]\ndir = \"run\"\nmax_steps = 20\nthreads = 1\n[input.train]\nplugin = \"csv\"\npath = "
               "\"train.csv\"\nlabel = \"y\"\nbatch_size = 10\n[input.train.columns]\nw = \"weight\"\n[input.eval]\n"
               "plugin = \"csv\"\npath = \"eval.csv\"\nlabel = \"y\"\nepochs = 1\n[eval]\nevery_steps = 5\n[model]\n"
               "plugin = \"tabular\"\nhidden = []\nloss = \"binary\"\n[optimizer]\nname = \"sgd\"\n"
               "learning_rate = 0.1\n" +
                   more);
    return path;
  }
  nlohmann::json last_evaluation() const {
    nlohmann::json last;
    std::ifstream file(run_dir() + "/metrics.jsonl");
    for (std::string line; std::getline(file, line);)
      if (line.find("\"evaluation\"") != line.npos) last = nlohmann::json::parse(line);
    return last;
  }
};

TEST_F(UndefinedMetricsOfRuns, AClassWithoutAnExampleIsNamedAndNothingIsComparedWithAZero) {
  const std::string manifest = table("1", kWatched);
  const ProcessResult r = belay({"run", manifest});
  ASSERT_EQ(r.status, 0) << r.err;
  const std::string names = "the metrics auc, auc_precision_recall, f1 of [input.eval] are undefined at step ";
  EXPECT_THAT(lines_with(r.err, names), SizeIs(1)) << r.err;
  EXPECT_THAT(r.err, HasSubstr(names + "5: no example has the class \"yes\"; evaluate on examples of each class, for "
                                       "instance by split_by = \"stratify\""));
  EXPECT_THAT(lines_with(r.err, "'eval/auc' is undefined (NaN) in the evaluation of step 5: "), SizeIs(1)) << r.err;
  EXPECT_THAT(lines_with(r.err, "checkpoint.best_metric \"eval/auc\" is nan in the evaluation of step 5"), SizeIs(1))
      << r.err;
  EXPECT_THAT(lines_with(r.err, "is nan at step"), SizeIs(0)) << "the events' own warning";
  EXPECT_THAT(r.err, HasSubstr(", auc = nan, "));
  const nlohmann::json last = last_evaluation();
  for (const char* name : {"eval/auc", "eval/auc_precision_recall", "eval/f1"}) EXPECT_TRUE(last.at(name).is_null());
  for (const char* name : {"eval/loss", "eval/accuracy", "eval/balanced_accuracy", "eval/log_loss"})
    EXPECT_TRUE(last.at(name).is_number()) << name;
  EXPECT_THAT(nlohmann::json::parse(contents(run_dir() + "/best"))["checkpoints"], SizeIs(0));

  const ProcessResult report = belay({"report", run_dir()});
  EXPECT_THAT(report.out, ::testing::ContainsRegex("eval/auc +- +NaN +since 5\n"));
  const ProcessResult evaluated = belay({"evaluate", manifest});
  EXPECT_EQ(evaluated.status, 0);
  EXPECT_THAT(evaluated.err, HasSubstr(names + "20: no example has the class \"yes\""));
}

TEST_F(UndefinedMetricsOfRuns, AnEvaluationWithoutWeightIsRefusedByItsInput) {
  const ProcessResult r = belay({"run", table("0")});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(r.err, HasSubstr("error[B3054]: input \"eval\" of \"csv\""));
  EXPECT_THAT(r.err, HasSubstr("; give rows that count a weight above 0, or the column another type"));
}

// ---- what check finds

TEST_F(EvaluatedMetrics, ATensorOfAMetricThatIsNotThereIsShownWhereItIsWritten) {
  expect_found(digits("[[metrics]]\nkind = \"accuracy\"\nname = \"again\"\nlabels = \"label\"\npredictions = "
                      "\"clas\"\n"),
               "error[B5038]: the graph has no 'clas'", "\n  predictions = \"clas\"\n                ^~~~~~\n");
}

TEST_F(EvaluatedMetrics, AnEvaluationInputWithoutTheLabelsIsNamed) {
  write_file(temp / "a.csv", "x,y\n1,2\n2,4\n3,6\n");
  write_file(temp / "b.csv", "x,z\n1,2\n2,4\n");
  const std::string path = temp / "csv.toml";
  const auto with = [&](const std::string& label) {
    write_file(path,
               "[run]\ndir = \"run\"\nmax_steps = 5\n[input.train]\nplugin = \"csv\"\npath = \"a.csv\"\nlabel = \"y\"\n"
               "[model]\nplugin = \"linear\"\n[optimizer]\nname = \"sgd\"\n[input.eval]\nplugin = \"csv\"\npath = "
               "\"b.csv\"\nepochs = 1\n" +
                   label);
    return path;
  };
  EXPECT_EQ(belay({"check", with("label = \"z\"\n")}).status, 0) << "another column of the file";
  expect_found(with("label = \"\"\nextra = \"ignore\"\n"),
               "[input.eval] has no label \"label\", which the training had", "\n  plugin = \"csv\"\n           ^");
}

TEST_F(EvaluatedMetrics, RestoreBestWithoutBestCheckpointsIsFoundBeforeTheRun) {
  expect_found(digits("[[hooks]]\nplugin = \"restore_best\"\n"),
               "restore_best has nothing to restore: the run keeps no best checkpoints",
               "\n  plugin = \"restore_best\"\n           ^~~~~~~~~~~~~~\n  help: set keep_best = 1 in [checkpoint]\n");
}

TEST_F(EvaluatedMetrics, AHookThatWaitsForEvaluationsThatNobodyMakesIsFound) {
  const std::string hook = "[[hooks]]\nplugin = \"early_stopping\"\ntensor = \"eval/accuracy\"\n";
  expect_found(digits("[checkpoint]\nkeep_best = 1\n" + hook), "no evaluation is made between two steps",
               "\n  tensor = \"eval/accuracy\"\n           ^");
  expect_found(digits(hook), "nothing is evaluated between two steps: set every_steps",
               "\n  tensor = \"eval/accuracy\"\n           ^");
  expect_found(
      digits(
          "[eval]\nevery_steps = 20\n[[hooks]]\nplugin = \"early_stopping\"\ntensor = \"eval/of_everything_else\"\n"),
      "; there are: eval/loss, eval/accuracy", "\n  tensor = \"eval/of_everything_else\"\n           ^");
}

TEST_F(EvaluatedMetrics, APredictionThatIsNotThereIsShownWhereItIsWritten) {
  const std::string manifest = digits();
  ASSERT_EQ(belay({"run", manifest}).status, 0);
  const ProcessResult r = belay({"predict", manifest, "--keys", "nope"});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(told(r), HasSubstr("error[B5032]: the model has no prediction \"nope\""));
  EXPECT_THAT(told(r), HasSubstr("help: predict.keys (--keys) may name: probabilities, class, class_name\n"));
}

// ---- the end

TEST_F(EvaluatedMetrics, AfterAnEarlyStopTheEndSaysThatTheNextStartTrainsNoFurther) {
  const std::string manifest = digits(
      "[eval]\nevery_steps = 5\n[[hooks]]\nplugin = \"early_stopping\"\ntensor = \"eval/accuracy\"\n"
      "patience = 1\nmin_delta = 1.0\n");
  const ProcessResult r = belay({"run", manifest});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(told(r), HasSubstr("trains no further unless early_stopping is changed"));
  const ProcessResult again = belay({"run", manifest});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(told(again), HasSubstr("(0 steps"));
  EXPECT_THAT(told(again), HasSubstr("trains no further unless early_stopping is changed"));
  EXPECT_THAT(told(again), HasSubstr("attempt 2: restored model.ckpt-11, "));
  EXPECT_THAT(told(again), HasSubstr(" old, and makes no step: early_stopping: 'eval/accuracy' has not improved"));
  EXPECT_THAT(told(again), Not(HasSubstr("continues from")));
}

TEST_F(EvaluatedMetrics, AStartAtTheLastStepSaysThatItMakesNone) {
  const std::string manifest = digits();
  ASSERT_EQ(belay({"run", manifest}).status, 0);
  const ProcessResult again = belay({"run", manifest});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(told(again), HasSubstr("attempt 2: restored model.ckpt-40, "));
  EXPECT_THAT(told(again), HasSubstr(" old, and makes no step: step 40 is already at max_steps = 40"));
  EXPECT_THAT(told(again), Not(HasSubstr("continues from")));
}

TEST_F(EvaluatedMetrics, ACheckpointThatIsDueAndOneOfTheBestIsSaidOnce) {
  const std::string manifest =
      digits("[eval]\nevery_steps = 20\n[checkpoint]\nsave_steps = 20\nkeep_best = 2\nbest_mode = \"min\"\n");
  const ProcessResult r = belay({"run", manifest});
  ASSERT_EQ(r.status, 0) << r.err;
  for (const char* name : {"/model.ckpt-20", "/model.ckpt-40"})
    EXPECT_THAT(lines_with(r.err, "saved " + run_dir() + name), SizeIs(1)) << r.err;
  EXPECT_THAT(lines_with(r.err, "model.ckpt-20 is the best checkpoint so far: eval/loss = "), SizeIs(1)) << r.err;
  EXPECT_THAT(nlohmann::json::parse(contents(run_dir() + "/best"))["checkpoints"], SizeIs(2));
}

// ---- text

TEST_F(EvaluatedMetrics, SampledTextGoesIntoAFileThatIsNamed) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "to be or not to be\n";
  write_file(temp / "plays.txt", text);
  const std::string path = temp / "train.toml";
  write_file(path,
             "[run]\ndir = \"run\"\nmax_steps = 2\n[input.train]\nplugin = \"text\"\nfiles = [\"plays.txt\"]\n"
             "sequence_length = 8\nbatch_size = 4\n[input.predict]\nplugin = \"text\"\nfiles = [\"plays.txt\"]\n"
             "sequence_length = 8\nbatch_size = 4\nepochs = 1\n[model]\nplugin = \"lstm\"\nembedding = 4\nhidden = 4\n"
             "[optimizer]\nname = \"sgd\"\n");
  ASSERT_EQ(belay({"run", path}).status, 0);
  const std::vector<std::string> ask = {"predict", path, "--prompt", "to ", "--length", "20"};
  const ProcessResult shown = belay(ask);
  ASSERT_EQ(shown.status, 0) << shown.err;
  EXPECT_EQ(shown.out.size(), 3u + 20u + 1u);
  std::vector<std::string> into = ask;
  into.insert(into.end(), {"--output", temp / "said.txt"});
  const ProcessResult written = belay(into);
  ASSERT_EQ(written.status, 0) << written.err;
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(contents(temp / "said.txt"), shown.out);
  EXPECT_THAT(listing(temp.path()), ElementsAre("plays.txt", "run", "said.txt", "train.toml"));
}

TEST_F(EvaluatedMetrics, SampledTextHasNoKeysAndNoFormat) {
  for (const char* option : {"--keys=class", "--format=csv"}) {
    const ProcessResult r = belay({"predict", digits(), "--prompt", "to ", option});
    EXPECT_EQ(r.status, 2) << option << r.err;
    EXPECT_THAT(r.err, HasSubstr("--prompt samples text, to which --keys and --format do not apply")) << option;
  }
}

// ---- the best, by name

TEST_F(EvaluatedMetrics, TheBestIsNamedByItsFileTooAndTheNextBestTakesItsPlace) {
  const std::string manifest = digits("[eval]\nevery_steps = 10\n[checkpoint]\nkeep_best = 2\n");
  ASSERT_EQ(belay({"run", manifest}).status, 0);
  const ProcessResult best = belay({"evaluate", manifest, "--checkpoint", "best"});
  ASSERT_EQ(best.status, 0) << best.err;
  EXPECT_EQ(belay({"evaluate", manifest, "--checkpoint", run_dir() + "/best"}).out, best.out);
  const auto list = nlohmann::json::parse(contents(run_dir() + "/best"))["checkpoints"];
  ASSERT_EQ(list.size(), 2u);
  std::filesystem::remove_all(run_dir() + "/" + list[0]["path"].get<std::string>());
  const ProcessResult next = belay({"evaluate", manifest, "--checkpoint", "best"});
  ASSERT_EQ(next.status, 0) << next.err;
  EXPECT_THAT(next.out, HasSubstr("eval at step " + std::to_string(list[1]["step"].get<int>()) + " on "));
  EXPECT_THAT(next.err, HasSubstr("the next best is taken"));
}

TEST_F(EvaluatedMetrics, TheBestOfARunThatKeepsNoneIsAMistakeOfTheCommandLine) {
  const std::string manifest = digits();
  ASSERT_EQ(belay({"run", manifest}).status, 0);
  const ProcessResult r = belay({"evaluate", manifest, "--checkpoint", "best"});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(told(r), HasSubstr("has no best checkpoints: set [checkpoint] keep_best"));
}

}  // namespace
}  // namespace belay::runtime::testing
