// SPDX-License-Identifier: Apache-2.0
// The model owns all that a training learned from its data: other inputs are matched with it by name, from the
// manifest, by command and from an export. schema_cells.py goes through many more combinations in the long suite.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SchemaOfModel : public RunTest {
 protected:
  // Flowers of three kinds, told apart by `length`; `width` is a hundred times as large.
  void SetUp() override {
    std::string train = "length,width,kind\n", turned = "kind,width,length\n", words, fresh = "width,length\n";
    for (int i = 0; i < 60; ++i) {
      const int kind = i % 3;
      const std::string length = std::to_string(kind * 4 + i % 7 * 0.1), width = std::to_string(300 + i * 3);
      train += length + "," + width + "," + kKinds[kind] + "\n";
      words = std::string(kKinds[kind]) + "," + width + "," + length + "\n" + words;
      fresh += width + "," + length + "\n";
    }
    write_file(temp / "train.csv", train);
    write_file(temp / "turned.csv", turned + words);
    write_file(temp / "one.csv", "length,width,kind\n8.1,301,gamma\n8.2,305,gamma\n");
    write_file(temp / "fresh.csv", fresh);
    write_file(temp / "word.csv", "length,width,kind\n0.1,300,alpha\n0.1,300,delta\n");
    write_file(temp / "lacks.csv", "length,kind\n0.1,alpha\n");
    write_file(temp / "extra.csv", "length,width,colour,kind\n0.1,300,7,alpha\n8.1,301,7,gamma\n");
  }
  std::string manifest(const std::string& more = "") const {
    const std::string path = temp / "train.toml";
    write_file(path,
               "[run]\ndir = \"run\"\nmax_steps = 200\nthreads = 1\n[model]\nplugin = \"linear\"\n[optimizer]\nname = "
               "\"adam\"\nlearning_rate = 0.1\n[input.train]\nplugin = \"csv\"\npath = \"train.csv\"\nbatch_size = "
               "20\nstandardize = true\n" +
                   more);
    return path;
  }
  // [input.eval] or [input.predict] of this file.
  static std::string input(const std::string& name, const std::string& file, const std::string& more = "") {
    return "[input." + name + "]\nplugin = \"csv\"\npath = \"" + file + "\"\nepochs = 1\nbatch_size = 8\n" + more;
  }
  static std::string set(const std::string& name, const std::string& file) {
    return "input." + name + "={plugin=\"csv\",path=\"" + file + "\",epochs=1}";
  }
  ProcessResult evaluate(const std::string& file) const {
    return belay({"evaluate", temp / "train.toml", "--set", set("eval", file)});
  }

  static constexpr const char* kKinds[] = {"alpha", "beta", "gamma"};
};

TEST_F(SchemaOfModel, T_101_AndT_102_ColumnsAndClassesGoByNameWhereverTheyStand) {
  const std::string train = manifest(input("eval", "turned.csv"));
  const ProcessResult run = belay({"run", train});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("on 60 examples: ")) << run.out;
  EXPECT_THAT(run.out, HasSubstr("accuracy = 1\n"));
  const ProcessResult right = evaluate("train.csv"), turned = evaluate("turned.csv"), one = evaluate("one.csv");
  EXPECT_EQ(right.status, 0) << right.err;
  EXPECT_EQ(turned.out, right.out);
  EXPECT_THAT(one.out, HasSubstr("on 2 examples: ")) << one.err;
  EXPECT_THAT(one.out, HasSubstr("accuracy = 1\n"));
}

TEST_F(SchemaOfModel, T_101_PredictionsAndExportsGoByName) {
  const std::string train =
      manifest("[[exporters]]\nplugin = \"belay\"\nwhen = \"final\"\n" + input("predict", "fresh.csv"));
  ASSERT_EQ(belay({"run", train}).status, 0);
  const ProcessResult turned = belay({"predict", train});
  ASSERT_EQ(turned.status, 0) << turned.err;
  const ProcessResult right = belay({"predict", train, "--set", set("predict", "train.csv")});
  EXPECT_EQ(turned.out, right.out) << right.err;
  EXPECT_THAT(turned.out, HasSubstr("\"class\":0,\"class_name\":\"alpha\"}\n"));
  std::vector<std::string> versions = listing(run_dir() + "/export/belay");
  std::erase(versions, "lock");
  ASSERT_EQ(versions.size(), 1u);
  const std::string exported = run_dir() + "/export/belay/" + versions[0];
  const ProcessResult of_export = belay({"predict", exported, "--set", set("predict", temp / "fresh.csv")});
  EXPECT_EQ(of_export.out, right.out) << of_export.err;
  const ProcessResult lacks = belay({"predict", exported, "--set", set("predict", temp / "lacks.csv")});
  EXPECT_EQ(lacks.status, 2);
  EXPECT_THAT(lacks.err, HasSubstr("lacks the training's column width"));
  EXPECT_EQ(contents(exported + "/schema.json"), contents(run_dir() + "/schema.json"));
  EXPECT_THAT(belay({"describe", exported}).out, HasSubstr("0 \"alpha\", 1 \"beta\", 2 \"gamma\""));
}

TEST_F(SchemaOfModel, T_101_AnEvaluatorThatBeganBeforeTheFirstCheckpointGoesByName) {
  const std::string train = manifest(input("eval", "turned.csv") + "[eval]\ntimeout_secs = 300\n");
  BelayProcess evaluator({"run", train, "--set", "run.mode=continuous_eval"});
  ASSERT_TRUE(evaluator.wait_for("waiting for the checkpoints of "));
  ASSERT_EQ(belay({"run", train}).status, 0);
  const ProcessResult evaluated = evaluator.wait();
  ASSERT_EQ(evaluated.status, 0) << evaluated.err;
  EXPECT_THAT(evaluated.out, HasSubstr("eval at step 200 on 60 examples: ")) << evaluated.err;
  EXPECT_THAT(evaluated.out, HasSubstr("accuracy = 1\n"));
}

TEST_F(SchemaOfModel, T_107_AnEvaluatorThatBeganBeforeTheFirstCheckpointNamesWhatIsMissing) {
  const std::string train = manifest("[eval]\ntimeout_secs = 300\non_error = \"continue\"\n");
  BelayProcess evaluator({"run", train, "--set", "run.mode=continuous_eval", "--set", set("eval", "lacks.csv")});
  ASSERT_TRUE(evaluator.wait_for("waiting for the checkpoints of "));
  ASSERT_EQ(belay({"run", train}).status, 0);
  const ProcessResult evaluated = evaluator.wait();
  EXPECT_EQ(evaluated.status, 2) << evaluated.err;
  EXPECT_THAT(evaluated.err, HasSubstr("lacks the training's column width"));
}

TEST_F(SchemaOfModel, T_106_WhichClassIsZeroIsSaidWhereverAPersonReads) {
  const std::string train = manifest();
  const std::string classes = "0 \"alpha\", 1 \"beta\", 2 \"gamma\"";
  EXPECT_THAT(belay({"check", train}).out, HasSubstr(classes));
  const ProcessResult run = belay({"run", train});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr(classes));
  const ProcessResult shown = belay({"checkpoint", "show", run_dir()});
  EXPECT_THAT(shown.out, HasSubstr(classes));
  EXPECT_THAT(shown.out, HasSubstr("fitted standardize.mean: "));
  EXPECT_THAT(belay({"report", run_dir()}).out, HasSubstr(classes));
  const auto json = nlohmann::json::parse(contents(run_dir() + "/schema.json"));
  EXPECT_EQ(json["features"][0]["columns"], (nlohmann::json{"length", "width"}));
  EXPECT_EQ(json["labels"][0]["class_names"], (nlohmann::json{"alpha", "beta", "gamma"}));
  EXPECT_EQ(contents(run_dir() + "/schema.json"), contents(run_dir() + "/model.ckpt-200/schema.json"));
}

TEST_F(SchemaOfModel, T_107_WhatCannotBeMatchedIsNamedBeforeAnythingRuns) {
  ASSERT_EQ(belay({"run", manifest()}).status, 0);
  const ProcessResult lacks = evaluate("lacks.csv");
  EXPECT_EQ(lacks.status, 2);
  EXPECT_THAT(lacks.err, HasSubstr("lacks the training's column width"));
  const ProcessResult extra = evaluate("extra.csv");
  EXPECT_EQ(extra.status, 2);
  EXPECT_THAT(extra.err, HasSubstr("has colour, which the training did not have (extra = \"ignore\" leaves it out)"));
  EXPECT_THAT(belay({"evaluate", temp / "train.toml", "--set",
                     "input.eval={plugin=\"csv\",path=\"extra.csv\",epochs=1,extra=\"ignore\"}"})
                  .out,
              HasSubstr("accuracy = 1\n"));
  const std::string with_eval = manifest(input("eval", "lacks.csv"));
  for (const char* command : {"check", "run"}) {
    const ProcessResult r = belay({command, with_eval});
    EXPECT_EQ(r.status, 2) << command << r.err;
    EXPECT_THAT(r.err, HasSubstr("lacks the training's column width")) << command;
  }
}

TEST_F(SchemaOfModel, T_110_AWordThatTrainingDidNotHaveIsNamedWithItsLine) {
  ASSERT_EQ(belay({"run", manifest()}).status, 0);
  const ProcessResult word = evaluate("word.csv");
  EXPECT_EQ(word.status, 2);
  EXPECT_THAT(told(word),
              HasSubstr("DIR/word.csv:3:9: error[B3039]: label \"delta\" is not one of the 3 classes that the "
                        "training had"));
}

TEST_F(SchemaOfModel, T_110_ALabelOfAnEvaluationThatIsNoClassIsTheManifestsMistake) {
  const auto header = [](std::string dims) { return std::string{0, 0, 8} + std::move(dims); };
  write_file(temp / "images", header({3, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 2}) + "abcdef");
  write_file(temp / "labels", header({1, 0, 0, 0, 3}) + std::string{0, 1, 2});
  write_file(temp / "other", header({1, 0, 0, 0, 3}) + std::string{0, 3, 2});
  const std::string path = temp / "idx.toml", eval = "input.eval={plugin=\"idx\",images=\"images\",epochs=1,labels=\"";
  write_file(path,
             "[run]\ndir = \"idx_run\"\nmax_steps = 2\n[model]\nplugin = \"linear\"\n[input.train]\nplugin = "
             "\"idx\"\nimages = \"images\"\nlabels = \"labels\"\nclasses = 3\n[optimizer]\nname = \"sgd\"\n"
             "learning_rate = 0.1\n");
  ASSERT_EQ(belay({"run", path, "-q"}).status, 0);
  for (const char* command : {"check", "evaluate"}) {
    EXPECT_EQ(belay({command, path, "--set", eval + "labels\"}"}).status, 0) << command;
    const ProcessResult other = belay({command, path, "--set", eval + "other\"}"});
    EXPECT_EQ(other.status, 2) << command;
    EXPECT_THAT(other.err, HasSubstr("has label 3 in record 1; with 3 classes labels are 0 to 2")) << command;
  }
}

TEST_F(SchemaOfModel, T_110_AWordOfOneRowIsNamedWithItsLineBeforeAModelOfFewerClassesIsRefused) {
  std::string rows = "length,width,kind\n";
  for (int i = 0; i < 60; ++i)
    rows += std::to_string(i % 2) + "," + std::to_string(i) + "," + (i % 2 == 0 ? "no" : "yes") + "\n";
  write_file(temp / "train.csv", rows + "0.5,7,maybe\n");
  const ProcessResult r =
      belay({"run", manifest(), "--set", "model={plugin=\"sequential\",layers=[{type=\"dense\",units=2}]}"});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(told(r), HasSubstr("DIR/train.csv:62:7: label \"maybe\" is in this row alone, and is class 2"));
  EXPECT_THAT(r.err, HasSubstr("needs 3; end with { type = \"dense\", units = 3 }; classes of \"label\": 0 \"no\", 1 "
                               "\"yes\", 2 \"maybe\""));
}

TEST_F(SchemaOfModel, T_108_AModelHasTheInputsClasses) {
  ASSERT_EQ(belay({"run", manifest()}).status, 0);
  EXPECT_THAT(belay({"checkpoint", "show", run_dir()}).out, HasSubstr("[2, 3]"));
  const ProcessResult other = belay({"check", manifest(), "--set", "model.classes=5", "--set", "run.dir=other"});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("classes: the model has 5, and the input's label has 3"));
}

TEST_F(SchemaOfModel, T_109_AnEvaluationOnRowsOfTheTrainingIsRefused) {
  const std::string own = manifest(input("eval", "train.csv", "split = \"eval\"\n"));
  const ProcessResult r = belay({"check", own});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("[input.eval] evaluates rows that [input.train] trains on"));
  EXPECT_EQ(belay({"check", own, "--set", "input.train.split=train"}).status, 0);
  const ProcessResult other_seed =
      belay({"check", own, "--set", "input.train.split=train", "--set", "input.eval.split_seed=3"});
  EXPECT_EQ(other_seed.status, 2);
  EXPECT_THAT(other_seed.err, HasSubstr("split_seed"));
}

TEST_F(SchemaOfModel, T_109_RowsOfTheTrainingAreKnownByAnotherPathAndByACommandAlone) {
  std::filesystem::create_symlink(temp / "train.csv", temp / "link.csv");
  std::filesystem::create_directory(temp / "folder");
  const std::string own = manifest();
  for (const std::string path : {"link.csv", "./train.csv", "folder/../train.csv", "tr?in.c*"}) {
    const ProcessResult r = belay({"check", own, "--set", set("eval", path), "--set", "input.eval.split=eval"});
    EXPECT_EQ(r.status, 2) << path;
    EXPECT_THAT(r.err, HasSubstr("[input.eval] evaluates rows that [input.train] trains on")) << path;
  }
  ASSERT_EQ(belay({"run", own, "-q"}).status, 0);
  const ProcessResult r = belay({"evaluate", own, "--set", set("eval", "train.csv"), "--set", "input.eval.split=eval"});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("[input.eval] evaluates rows that [input.train] trains on"));
  EXPECT_EQ(evaluate("train.csv").status, 0);  // all rows, on purpose
}

TEST_F(SchemaOfModel, T_109_RowsThatAreNumberedOtherwiseAreRefused) {
  const std::string more = input("eval", "train.csv",
                                 "split = \"eval\"\nskip_lines = 2\nheader = false\n"
                                 "columns = [\"length\", \"width\", \"kind\"]\n");
  const ProcessResult r = belay({"check", manifest(more), "--set", "input.train.split=train"});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("[input.eval] evaluates rows that [input.train] trains on: they have another "
                               "skip_lines"));
}

TEST_F(SchemaOfModel, T_109_AFileOfAListThatTheTrainingReadsTooIsRefused) {
  for (const char* name : {"a.tfrecord", "b.tfrecord", "c.tfrecord"})
    std::filesystem::copy_file(BELAY_SOURCE_DIR "/tests/validate/examples.tfrecord", temp / name);
  const std::string path = temp / "records.toml";
  write_file(path,
             "[run]\ndir = \"records_run\"\nmax_steps = 2\n[model]\nplugin = \"linear\"\n[optimizer]\nname = \"sgd\"\n"
             "learning_rate = 0.1\n[input.train]\nplugin = \"tfrecord\"\nfiles = [\"a.tfrecord\", \"b.tfrecord\"]\n"
             "label = \"y\"\nclasses = 2\neval_fraction = 0.5\n[input.train.features]\n"
             "a = { dtype = \"float32\", shape = [2], default = 0.5 }\ny = { dtype = \"int64\", default = 0 }\n"
             "[input.eval]\nplugin = \"tfrecord\"\nepochs = 1\nsplit = \"eval\"\neval_fraction = 0.5\n");
  const auto check = [&](const std::string& split, const std::string& files) {
    return belay({"check", path, "--set", "input.train.split=" + split, "--set", "input.eval.files=" + files});
  };
  const std::string said = "[input.eval] evaluates rows that [input.train] trains on: ";
  for (const char* files :
       {"[\"b.tfrecord\"]", "[\"b.tfrecord\", \"a.tfrecord\"]", "[\"a.tfrecord\", \"c.tfrecord\"]"}) {
    const ProcessResult some = check("train", files);
    EXPECT_EQ(some.status, 2) << files;
    EXPECT_THAT(some.err, HasSubstr(said + "they share a file and have other lists of files")) << files;
    EXPECT_THAT(check("all", files).err, HasSubstr(said + "it takes all rows of the file")) << files;
  }
  const ProcessResult same = check("train", "[\"a.tfrecord\", \"b.tfrecord\"]"),
                      other = check("all", "[\"c.tfrecord\"]");
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_EQ(other.status, 0) << other.err;
}

TEST_F(SchemaOfModel, T_109_AnEvaluationHasTheTrainingsFoldAndAnotherOneIsRefusedWithBoth) {
  const std::string own =
      manifest("split = \"train\"\nfolds = 5\nfold = 1\n" + input("eval", "train.csv", "split = \"eval\"\n"));
  const ProcessResult inherited = belay({"check", own});
  EXPECT_EQ(inherited.status, 0) << inherited.err;
  EXPECT_THAT(inherited.out, HasSubstr("input.eval  csv, 12 examples, "));
  EXPECT_THAT(inherited.out, HasSubstr("input.train  csv, 48 examples, "));
  EXPECT_THAT(inherited.err, HasSubstr("split: fold 1 of 5 (from 0): rows 48 train, 12 eval"));
  const ProcessResult other = belay({"check", own, "--set", "input.eval.fold=2"});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("[input.eval] evaluates rows that [input.train] trains on: they have another fold, "
                                   "2 in [input.eval] and 1 in [input.train]"));
  const ProcessResult by = belay({"check", own, "--set", "input.eval.split_by=stratify"});
  EXPECT_EQ(by.status, 2);
  EXPECT_THAT(by.err, HasSubstr("another split_by, \"stratify\" in [input.eval] and \"rows\" in [input.train]"));
  const ProcessResult same = belay({"check", own, "--set", "input.train.split=eval"});
  EXPECT_EQ(same.status, 2);
  EXPECT_THAT(same.err, HasSubstr("both have split = \"eval\""));
}

TEST_F(SchemaOfModel, T_109_ATestPartOfTheTrainingsRowsIsRefusedAndOneBesideThemIsNot) {
  const std::string own = manifest(input("eval_test", "train.csv", "split = \"test\"\n"));
  const ProcessResult all = belay({"check", own, "--set", "input.eval_test.test_fraction=0.1"});
  EXPECT_EQ(all.status, 2);
  EXPECT_THAT(all.err, HasSubstr("[input.eval_test] evaluates rows that [input.train] trains on: it takes all rows"));
  const ProcessResult none = belay({"check", own, "--set", "input.train.split=train"});
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, HasSubstr("has 60 rows and none of them is for \"test\"; set 'test_fraction'"));
  const ProcessResult beside =
      belay({"check", own, "--set", "input.train.split=train", "--set", "input.train.test_fraction=0.1"});
  EXPECT_EQ(beside.status, 0) << beside.err;
  EXPECT_THAT(beside.out, HasSubstr("input.eval_test  csv, 6 examples, "));
}

TEST_F(SchemaOfModel, T_109_AnEvaluationHasTheFoldThatItsModelWasTrainedWithout) {
  const std::string own = manifest("split = \"train\"\nfolds = 5\n" + input("eval", "train.csv", "split = \"eval\"\n"));
  ASSERT_EQ(belay({"run", own, "--set", "input.train.fold=3"}).status, 0);
  const ProcessResult of_model = belay({"evaluate", own});
  EXPECT_EQ(of_model.status, 0) << of_model.err;
  EXPECT_THAT(of_model.out, HasSubstr("on 12 examples: "));
  const ProcessResult other = belay({"evaluate", own, "--set", "input.eval.fold=2"});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("another fold, 2 in [input.eval] and 3 in [input.train]"));
}

// A group's part follows from its value, in whatever file it is.
TEST_F(SchemaOfModel, T_109_AnEvaluationByGroupsMayHaveMoreFilesThanTheTraining) {
  const std::string own = manifest("split = \"train\"\nsplit_column = \"width\"\nfeatures = [\"length\"]\n" +
                                   input("eval", "train.csv", "split = \"eval\"\n"));
  const auto check = [&](const std::string& by) {
    return belay(
        {"check", own, "--set", "input.train.split_by=" + by, "--set", "input.eval.path=[\"train.csv\",\"one.csv\"]"});
  };
  const ProcessResult groups = check("groups"), times = check("time");
  EXPECT_EQ(groups.status, 0) << groups.err;
  EXPECT_EQ(times.status, 2);
  EXPECT_THAT(times.err, HasSubstr("they share a file and have other lists of files"));
}

TEST_F(SchemaOfModel, T_104_AnOptionThatIsSetOtherwiseIsAWarningByName) {
  ASSERT_EQ(belay({"run", manifest()}).status, 0);
  const ProcessResult inherited =
      belay({"check", temp / "train.toml", "--set", "input.eval={plugin=\"csv\",path=\"train.csv\",epochs=1}"});
  EXPECT_THAT(inherited.out,
              HasSubstr("\n  standardize = true, as in the training; another value here gives a warning\n"));
  const ProcessResult r = belay({"evaluate", temp / "train.toml", "--set",
                                 "input.eval={plugin=\"csv\",path=\"train.csv\",epochs=1,standardize=false}"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("[input.eval] sets standardize otherwise than the training did"));
  EXPECT_THAT(r.out, Not(HasSubstr("accuracy = 1\n")));
}

// Names in another order are matched, so the model gets what it was trained on.
TEST_F(SchemaOfModel, T_104_NamesInAnotherOrderAreNoWarning) {
  const std::string train = manifest("features = [\"length\", \"width\"]\n");
  ASSERT_EQ(belay({"run", train}).status, 0);
  const std::string right = evaluate("train.csv").out;
  const auto with = [&](const std::string& features) {
    return belay({"evaluate", train, "--set",
                  "input.eval={plugin=\"csv\",path=\"turned.csv\",epochs=1,features=" + features + "}"});
  };
  const ProcessResult turned = with("[\"width\",\"length\"]");
  EXPECT_EQ(turned.out, right) << turned.err;
  EXPECT_THAT(turned.err, Not(HasSubstr("otherwise than the training did")));
  const ProcessResult fewer = with("[\"width\"]");
  EXPECT_EQ(fewer.status, 2) << fewer.out;
  EXPECT_THAT(fewer.err, HasSubstr("lacks \"length\""));
}

// Models that begin with the values of "run".
class WarmStartOfModel : public SchemaOfModel {
 protected:
  // One step that changes no weight.
  ProcessResult start(const std::string& dir, const std::string& file, const std::string& schema,
                      const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"run",
                                      temp / "train.toml",
                                      "--set",
                                      "run.dir=" + dir,
                                      "--set",
                                      "run.max_steps=1",
                                      "--set",
                                      "optimizer.learning_rate=1e-20",
                                      "--set",
                                      "input.train.path=" + (temp / file),
                                      "--set",
                                      "scaffold.init_fn={plugin=\"warm_start\",from=\"" + run_dir() + "\"" +
                                          (schema.empty() ? "" : ",schema=\"" + schema + "\"") + "}"};
    for (const std::string& setting : more) words.insert(words.end(), {"--set", setting});
    return belay(words);
  }
  // Without the step.
  static std::string numbers(const ProcessResult& r) {
    return r.out.substr(std::min(r.out.find(" on "), r.out.size()));
  }
  ProcessResult evaluate_in(const std::string& dir, const std::string& file) const {
    return belay({"evaluate", temp / "train.toml", "--set", "run.dir=" + dir, "--set", set("eval", file)});
  }
  nlohmann::json schema_in(const std::string& dir) const {
    return nlohmann::json::parse(contents(temp / (dir + "/schema.json")));
  }
};

TEST_F(WarmStartOfModel, T_101_AWarmStartHasTheColumnsScalesAndClassesOfWhereItsValuesComeFrom) {
  ASSERT_EQ(belay({"run", manifest()}).status, 0);
  const std::string right = numbers(evaluate("train.csv"));
  for (const char* file : {"train.csv", "turned.csv", "one.csv"}) {
    const std::string dir = std::string("from_") + file;
    const ProcessResult started = start(dir, file, "");
    ASSERT_EQ(started.status, 0) << file << started.err;
    EXPECT_THAT(started.err, HasSubstr("from which the model's values come")) << file;
    EXPECT_EQ(numbers(evaluate_in(dir, "turned.csv")), right) << file;
    EXPECT_EQ(schema_in(dir)["kept"]["standardize.mean"], schema_in("run")["kept"]["standardize.mean"]) << file;
  }
}

TEST_F(WarmStartOfModel, T_102_WordsOfOtherClassesAreRefusedWithTheWayOut) {
  ASSERT_EQ(belay({"run", manifest()}).status, 0);
  const ProcessResult words = start("words", "word.csv", "all");
  EXPECT_EQ(words.status, 2);
  EXPECT_THAT(words.err, HasSubstr("label \"delta\" is not one of the 3 classes that the training had"));
  EXPECT_THAT(words.err, HasSubstr("for a new last layer set schema = \"features\" here"));
}

TEST_F(WarmStartOfModel, T_102_WhatIsLeftOutIsTheDatasOwn) {
  ASSERT_EQ(belay({"run", manifest()}).status, 0);
  const std::vector<std::string> label = {"input.train.label=kind"};
  ASSERT_EQ(start("features", "turned.csv", "features", label).status, 0);
  EXPECT_EQ(schema_in("features")["features"][0]["columns"], (nlohmann::json{"length", "width"}));
  EXPECT_EQ(schema_in("features")["labels"][0]["class_names"], (nlohmann::json{"gamma", "beta", "alpha"}));
  ASSERT_EQ(start("none", "turned.csv", "none", label).status, 0);
  EXPECT_EQ(schema_in("none")["features"][0]["columns"], (nlohmann::json{"width", "length"}));
  EXPECT_EQ(schema_in("none")["labels"][0]["class_names"], (nlohmann::json{"gamma", "beta", "alpha"}));
}

TEST_F(WarmStartOfModel, T_104_AWarmStartInheritsTheOptionsOfWhereItsValuesComeFrom) {
  ASSERT_EQ(belay({"run", manifest()}).status, 0);
  const std::string plain = manifest();
  write_file(plain, replaced(contents(plain), "standardize = true\n", ""));
  const std::string right = numbers(evaluate("train.csv"));
  const ProcessResult started = start("inherits", "turned.csv", "");
  ASSERT_EQ(started.status, 0) << started.err;
  EXPECT_EQ(numbers(evaluate_in("inherits", "turned.csv")), right);
  // Also when it continues.
  const ProcessResult again = start("inherits", "turned.csv", "", {"run.max_steps=2"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(numbers(evaluate_in("inherits", "turned.csv")), right);
  const ProcessResult other = start("other", "turned.csv", "", {"input.train.standardize=false"});
  EXPECT_THAT(other.err, HasSubstr("[input.train] sets standardize otherwise than the training did")) << other.out;
}

TEST_F(SchemaOfModel, AResumeGoesByNameAndRefusesOtherColumns) {
  const std::string train = manifest();
  ASSERT_EQ(belay({"run", train, "--set", "run.max_steps=20"}).status, 0);
  std::filesystem::copy_file(temp / "turned.csv", temp / "train.csv",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(belay({"run", train}).status, 2);
  ASSERT_EQ(belay({"run", train, "--resume=changed"}).status, 0);
  EXPECT_THAT(evaluate("turned.csv").out, HasSubstr("accuracy = 1\n"));
  std::filesystem::copy_file(temp / "lacks.csv", temp / "train.csv", std::filesystem::copy_options::overwrite_existing);
  const ProcessResult lacks = belay({"run", train, "--resume=changed", "--set", "run.max_steps=220"});
  EXPECT_EQ(lacks.status, 2);
  EXPECT_THAT(lacks.err, HasSubstr("lacks the training's column width"));
}

TEST_F(SchemaOfModel, T_101_AResumeNamesWhatTheDataHasOtherwise) {
  const std::string train = manifest("label = \"kind\"\n");
  ASSERT_EQ(belay({"run", train, "--set", "run.max_steps=20"}).status, 0);
  write_file(temp / "train.csv", "length,width,colour,kind\n0.1,300,7,alpha\n8.1,301,7,delta\n");
  const ProcessResult other = belay({"run", train});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, HasSubstr("error[B5021]: input.train.path: "));
  EXPECT_THAT(other.err, HasSubstr("[input.train] column \"colour\" of feature \"features\" is new"));
  EXPECT_THAT(other.err,
              HasSubstr("[input.train] classes of label \"label\" differ: the training had \"alpha\", \"beta\", "
                        "\"gamma\"; now \"alpha\", \"delta\""));
  EXPECT_THAT(other.err, HasSubstr("[input.train] fitted \"standardize.mean\" differs: the training had "));
  const ProcessResult exact = belay({"run", train, "--exact", "--resume=changed"});
  EXPECT_EQ(exact.status, 2);
  EXPECT_THAT(exact.err, HasSubstr("--exact: [input.train] column \"colour\" of feature \"features\" is new"));

  std::string rows = "width,length,kind\n";
  for (int i = 0; i < 60; ++i) rows += std::to_string(3000 + i) + ",0.5," + kKinds[2 - i % 3] + "\n";
  write_file(temp / "train.csv", rows);
  const ProcessResult scaled = belay({"run", train, "--resume=changed"});
  EXPECT_EQ(scaled.status, 0) << scaled.err;
  EXPECT_THAT(scaled.err, HasSubstr("warning --resume=changed: [input.train] fitted \"standardize.mean\" differs"));
  EXPECT_THAT(scaled.err, Not(HasSubstr("[input.train] column")));
  EXPECT_THAT(scaled.err, Not(HasSubstr("[input.train] classes")));
}

TEST_F(SchemaOfModel, T_101_ASchemaSurvivesConversionsPartsAndCopies) {
  ASSERT_EQ(belay({"run", manifest()}).status, 0);
  const std::string checkpoint = run_dir() + "/model.ckpt-200";
  for (const char* saver : {"tf_bundle", "npz"})
    ASSERT_EQ(belay({"checkpoint", "convert", checkpoint, temp / saver, "--saver", saver}).status, 0) << saver;
  ASSERT_EQ(belay({"checkpoint", "convert", temp / "npz", temp / "back", "--saver", "safetensors"}).status, 0);
  ASSERT_EQ(belay({"checkpoint", "convert", checkpoint, temp / "part", "--saver", "safetensors", "--only",
                   "linear/(kernel|bias)$|global_step"})
                .status,
            0);
  std::filesystem::copy(checkpoint, temp / "copied", std::filesystem::copy_options::recursive);
  const std::string right = evaluate("train.csv").out;
  for (const char* name : {"tf_bundle", "npz", "back", "part", "copied"}) {
    EXPECT_EQ(contents(temp / name + "/schema.json"), contents(run_dir() + "/schema.json")) << name;
    const bool of_other_saver = name == std::string_view("tf_bundle") || name == std::string_view("npz");
    const std::string saver = of_other_saver ? name : "safetensors";
    const ProcessResult r = belay({"evaluate", temp / "train.toml", "--checkpoint", temp / name, "--set",
                                   set("eval", "turned.csv"), "--set", "scaffold.saver={plugin=\"" + saver + "\"}"});
    EXPECT_EQ(r.out, right) << name << r.err;
  }
}

TEST_F(SchemaOfModel, T_101_TheBestCheckpointAndItsExportHaveTheSchema) {
  const std::string train =
      manifest("[[exporters]]\nplugin = \"belay\"\nwhen = \"best\"\n" + input("eval", "turned.csv") +
               "[eval]\nevery_steps = 50\n[checkpoint]\nkeep_best = 1\n");
  ASSERT_EQ(belay({"run", train}).status, 0);
  const ProcessResult right = belay({"evaluate", train, "--checkpoint", "best", "--set", set("eval", "train.csv")});
  EXPECT_THAT(right.out, HasSubstr("accuracy = 1\n")) << right.err;
  EXPECT_EQ(belay({"evaluate", train, "--checkpoint", "best", "--set", set("eval", "turned.csv")}).out, right.out);
  ASSERT_EQ(belay({"export", train, "--checkpoint", "best"}).status, 0);
  std::vector<std::string> versions = listing(run_dir() + "/export/belay");
  std::erase(versions, "lock");
  ASSERT_GE(versions.size(), 2u);
  for (const std::string& version : versions)
    EXPECT_EQ(contents(run_dir() + "/export/belay/" + version + "/schema.json"), contents(run_dir() + "/schema.json"));
}

// Checkpoints of versions before the schema are like a file of tensors that was made a checkpoint: they have no schema.
TEST_F(SchemaOfModel, T_101_ACheckpointWithoutASchemaIsAWarningAndComparedByShape) {
  ASSERT_EQ(belay({"run", manifest()}).status, 0);
  std::filesystem::create_directory(temp / "old");
  const std::string old = temp / "old/model.ckpt-200";
  ASSERT_EQ(
      belay({"checkpoint", "convert", run_dir() + "/model.ckpt-200/model.safetensors", old, "--saver", "safetensors"})
          .status,
      0);
  ASSERT_FALSE(std::filesystem::exists(old + "/schema.json"));
  const std::string warning = "warning " + old + " does not record which columns and classes its training had";
  const std::string right = evaluate("train.csv").out;
  const ProcessResult same =
      belay({"evaluate", temp / "train.toml", "--checkpoint", old, "--set", set("eval", "train.csv")});
  EXPECT_EQ(same.out, right) << same.err;
  EXPECT_EQ(lines_with(same.err, warning).size(), 1u) << same.err;
  const ProcessResult wide =
      belay({"evaluate", temp / "train.toml", "--checkpoint", old, "--set", set("eval", "extra.csv")});
  EXPECT_NE(wide.status, 0);
  EXPECT_THAT(wide.err, HasSubstr("the variable 'linear/"));

  const std::vector<std::string> again = {"run",   temp / "train.toml", "--set", "run.dir=old",
                                          "--set", "run.max_steps=210"};
  const ProcessResult resumed = belay(again);
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(lines_with(resumed.err, warning).size(), 1u) << resumed.err;
  EXPECT_EQ(contents(temp / "old/model.ckpt-210/schema.json"), contents(run_dir() + "/schema.json"));
  EXPECT_THAT(belay(again).err, Not(HasSubstr("does not record which columns")));
}

// If a checkpoint is damaged, a start continues from the one before it.
TEST_F(SchemaOfModel, T_101_ADamagedSchemaIsThatOfTheRunDirectoryOrAnError) {
  const std::string train = manifest("[checkpoint]\nsave_steps = 100\n");
  ASSERT_EQ(belay({"run", train}).status, 0);
  const std::string damaged = run_dir() + "/model.ckpt-200/schema.json";
  write_file(damaged, "{");
  std::filesystem::copy_file(temp / "turned.csv", temp / "train.csv",
                             std::filesystem::copy_options::overwrite_existing);
  const ProcessResult resumed = belay({"run", train, "--resume=changed"});
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(evaluate("turned.csv").out, HasSubstr("accuracy = 1\n"));

  write_file(damaged, "{");
  write_file(run_dir() + "/schema.json", "{");
  const ProcessResult named = evaluate("turned.csv");
  EXPECT_EQ(named.status, 2) << named.err;
  EXPECT_THAT(told(named),
              HasSubstr("error[B3010]: 'DIR/run/model.ckpt-200/schema.json': schema.json is not what belay writes"));
}

// As text that can be read, with two columns in each other's place.
TEST_F(SchemaOfModel, T_101_ASchemaThatIsNotTheOneThatWasWrittenIsNotUsed) {
  const std::string train =
      manifest("[[exporters]]\nplugin = \"belay\"\nwhen = \"final\"\n[checkpoint]\nsave_steps = 100\n");
  ASSERT_EQ(belay({"run", train}).status, 0);
  const std::string of_checkpoint = run_dir() + "/model.ckpt-200/schema.json";
  const std::string written = contents(of_checkpoint), names = "\"length\",\"width\"";
  ASSERT_NE(written.find(names), written.npos);
  std::string other = written;
  other.replace(other.find(names), names.size(), "\"width\",\"length\"");
  const std::string older = belay({"evaluate", train, "--checkpoint", "100", "--set", set("eval", "turned.csv")}).out;
  ASSERT_THAT(older, HasSubstr("accuracy = "));
  write_file(of_checkpoint, other);
  const ProcessResult passed_over = evaluate("turned.csv");
  EXPECT_EQ(passed_over.out, older) << passed_over.err;
  EXPECT_THAT(passed_over.err, HasSubstr("schema.json has the CRC32C"));

  std::vector<std::string> versions = listing(run_dir() + "/export/belay");
  std::erase(versions, "lock");
  ASSERT_EQ(versions.size(), 1u);
  const std::string exported = run_dir() + "/export/belay/" + versions[0];
  const std::vector<std::string> predict = {"predict", exported, "--set", set("predict", temp / "fresh.csv")};
  ASSERT_EQ(belay(predict).status, 0);
  write_file(exported + "/schema.json", other);
  const ProcessResult changed = belay(predict);
  EXPECT_EQ(changed.status, 2) << changed.out;
  EXPECT_THAT(changed.err, HasSubstr("schema.json' is not the file that was written"));
  std::filesystem::remove(exported + "/schema.json");
  const ProcessResult removed = belay(predict);
  EXPECT_EQ(removed.status, 2) << removed.out;
  EXPECT_THAT(removed.err, HasSubstr("schema.json' is missing: it records which columns and classes"));
}

TEST_F(SchemaOfModel, T_101_WithoutACheckpointTheInputIsNotBlamedAlone) {
  write_file(temp / "odd.csv", "length,width,kind\n0.1,300,alpha\n8.1,3o1,gamma\n8.2,301,gamma\n");
  const ProcessResult r = belay({"evaluate", manifest(), "--set", set("eval", "odd.csv")});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("3o1"));
  EXPECT_THAT(r.err, Not(HasSubstr("types by the rows of the training")));
  EXPECT_THAT(r.err, HasSubstr("nothing is known of the training's columns and classes: there is no run directory"));
}

// Without the training's classes, those of the evaluation's rows are too few.
TEST_F(SchemaOfModel, AMissingCheckpointIsTheFirstError) {
  const std::string path = manifest(input("eval", "one.csv"));
  for (const char* checkpoint : {"best", "latest", "200"})
    for (const char* command : {"evaluate", "check"}) {
      std::vector<std::string> args{command, path};
      if (std::string(command) == "evaluate") args.insert(args.end(), {"--checkpoint", checkpoint});
      if (std::string(command) == "check") args.insert(args.end(), {"--set", "run.mode=evaluate"});
      const ProcessResult r = belay(args);
      EXPECT_EQ(r.status, 2) << r.err;
      const auto missing = r.err.find("there is no run directory"), classes = r.err.find("at least 2");
      EXPECT_NE(missing, r.err.npos) << r.err;
      EXPECT_LT(missing, classes) << r.err;
    }
  ASSERT_EQ(belay({"run", path}).status, 0);
  const ProcessResult best = belay({"evaluate", path, "--checkpoint", "best", "--set", set("eval", "lacks.csv")});
  EXPECT_NE(best.status, 0);
  EXPECT_LT(best.err.find("has no best checkpoints: set [checkpoint] keep_best"), best.err.find("lacks the training's"))
      << best.err;
}

}  // namespace
}  // namespace belay::runtime::testing
