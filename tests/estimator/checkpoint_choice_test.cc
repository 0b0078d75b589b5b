// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/resume/checkpoint_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "belay/ops/variables.h"
#include "runtime/checkpoint/directory/checkpoint_series.h"
#include "runtime/checkpoint/directory/run_lock.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/ops/registry.h"
#include "tests/checkpoint/checkpoint_fixture.h"
#include "tests/estimator/meddled_file_system.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = CheckpointChoice::Kind;

TEST(CheckpointChoiceText, IsLatestBestAStepOrAPath) {
  EXPECT_EQ(parse_checkpoint_choice("latest").kind, Kind::kLatest);
  EXPECT_EQ(parse_checkpoint_choice("best").kind, Kind::kBest);
  EXPECT_EQ(parse_checkpoint_choice("2000").kind, Kind::kStep);
  EXPECT_EQ(parse_checkpoint_choice("2000").step, 2000);
  for (const char* path : {"runs/x", "./2000", "model.ckpt-2000", "-5", "Latest"}) {
    EXPECT_EQ(parse_checkpoint_choice(path).kind, Kind::kPath);
    EXPECT_EQ(parse_checkpoint_choice(path).path, path);
  }
  EXPECT_EQ(error_of([] { parse_checkpoint_choice(""); }),
            "INVALID_ARGUMENT: [B5004] a checkpoint is latest, best, a step or a path, and not empty");
  EXPECT_EQ(error_of([] { parse_checkpoint_choice("99999999999999999999"); }),
            "INVALID_ARGUMENT: [B5004] 99999999999999999999 is no step: it is larger than any");
}

class CheckpointChoiceTest : public ::testing::Test {
 protected:
  // The checkpoints are a trainer's; what is tested sees them through `files`, which refuses to write.
  void save(std::int64_t step) {
    series_.save(StepContent(step).content(), saver_.use());
    series_.retain();
  }
  // Step of what was chosen; its bits are checked.
  std::int64_t chosen(const std::string& choice, const BestCheckpoints& best = {}) {
    const CheckpointPlace place{files_, log_, dir_.path(), best};
    std::int64_t read = -1;
    const UsedCheckpoint used =
        with_checkpoint(place, parse_checkpoint_choice(choice), [&](const CheckpointReader& reader) {
          EXPECT_EQ(StepContent(reader.state().global_step).difference(reader, saver_.use()), "");
          read = reader.state().global_step;
        });
    EXPECT_EQ(used.global_step, read);
    EXPECT_EQ(used.path, dir_ / checkpoint_name(read));
    return read;
  }
  std::string error(const std::string& choice, const BestCheckpoints& best = {}) {
    return error_of([&] { chosen(choice, best); });
  }
  // Does this once, before that file of a checkpoint is opened.
  void before_opening(const std::string& part, const std::function<void()>& then) {
    files_.before_open = [this, part, then](const std::string& path) {
      if (path != dir_ / part) return;
      then();
      files_.before_open = [](const std::string&) {};
    };
  }
  void remove(std::int64_t step) { std::filesystem::remove_all(dir_ / checkpoint_name(step)); }

  TempDir dir_;
  FakeClock clock_;
  RecordingLogger log_;
  SafetensorsSaver saver_;
  MeddledFileSystem files_{posix_file_system()};
  std::unique_ptr<OpenDirectory> run_ = posix_file_system().open_directory(dir_.path());
  CheckpointSeries series_{posix_file_system(), *run_, clock_, log_, {.max_to_keep = 3}};
};

TEST_F(CheckpointChoiceTest, LatestIsTheOneThatTrainingWouldGoOnFrom) {
  save(10), save(20), save(30);
  EXPECT_EQ(chosen("latest"), 30);
  write_file(dir_ / "checkpoint", "model_checkpoint_path: \"model.ckpt-20\"\n");
  EXPECT_EQ(chosen("latest"), 20);
  EXPECT_THAT(log_.lines, IsEmpty());
}

TEST_F(CheckpointChoiceTest, ADamagedOneIsNamedAndTheOneBeforeItIsTaken) {
  save(10), save(20);
  std::filesystem::resize_file(dir_ / "model.ckpt-20/model.safetensors", 100);
  EXPECT_EQ(chosen("latest"), 10);
  ASSERT_EQ(log_.lines.size(), 2u);
  EXPECT_THAT(log_.lines[0], HasSubstr("warning checkpoint: a checkpoint is damaged and stays where it is"));
  EXPECT_THAT(error("20"), HasSubstr("model.safetensors has 100 bytes, but the index records"));
}

TEST_F(CheckpointChoiceTest, AStepIsThatOneAndAnErrorListsThoseThatAreThere) {
  save(10), save(20), save(100);
  EXPECT_EQ(chosen("20"), 20);
  EXPECT_EQ(error("30"), "NOT_FOUND: [B4025] '" + dir_.path() +
                             "' holds no model.ckpt-30; there are those of the steps 10, 20, 100");
}

TEST_F(CheckpointChoiceTest, APathIsACheckpointOrARunDirectory) {
  save(10), save(20);
  EXPECT_EQ(chosen(dir_ / "model.ckpt-10"), 10);
  EXPECT_EQ(chosen(dir_ / "model.ckpt-10//"), 10);
  EXPECT_EQ(chosen(dir_.path() + "/"), 20);
}

TEST_F(CheckpointChoiceTest, WhatIsNoCheckpointIsAnErrorThatSaysWhatItIs) {
  save(10);
  std::filesystem::create_directory(dir_ / "empty");
  std::filesystem::create_directory(dir_ / "other");
  write_file(dir_ / "other/a\n.txt", "");
  write_file(dir_ / "tf.ckpt-5.index", "");
  EXPECT_EQ(error(dir_ / "checkpoint"), "FAILED_PRECONDITION: [B4025] '" + dir_ / "checkpoint" +
                                            "' is a file; a checkpoint is a directory such as model.ckpt-2000");
  const std::string none = "' is no checkpoint, which has a file 'index', and no run directory, which has model.ckpt-*";
  EXPECT_EQ(error(dir_ / "empty"), "FAILED_PRECONDITION: [B4025] '" + dir_ / "empty" + none + "; it is empty");
  EXPECT_EQ(error(dir_ / "other"), "FAILED_PRECONDITION: [B4025] '" + dir_ / "other" + none + "; it holds a\\n.txt");
  EXPECT_EQ(error(dir_ / "tf.ckpt-5"), "FAILED_PRECONDITION: [B4025] '" + dir_ / "tf.ckpt-5" +
                                           "' is a checkpoint of TensorFlow: convert it with belay checkpoint convert");
  EXPECT_EQ(error("nothing/here"),
            "NOT_FOUND: [B4025] there is no 'nothing/here'; --checkpoint is latest, best, a step or a path");
}

TEST_F(CheckpointChoiceTest, NoCheckpointIsAnErrorThatSaysWhatIsThere) {
  EXPECT_EQ(error("latest"), "NOT_FOUND: [B4025] '" + dir_.path() + "' holds no checkpoint; it is empty");
  for (int i = 0; i < 12; ++i) write_file(dir_ / ("f" + std::to_string(10 + i)), "");
  EXPECT_EQ(error("latest"), "NOT_FOUND: [B4025] '" + dir_.path() +
                                 "' holds no checkpoint; it holds f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, "
                                 "and 2 more");
  EXPECT_EQ(error("5"), "NOT_FOUND: [B4025] '" + dir_.path() + "' holds no model.ckpt-5; there is none of any step");
  EXPECT_EQ(error_of([&] {
              with_checkpoint({files_, log_, dir_ / "gone"}, parse_checkpoint_choice("latest"), [](const auto&) {});
            }),
            "NOT_FOUND: [B4025] there is no run directory '" + dir_ / "gone" +
                "'; train first, or name the checkpoint by its path");
}

TEST_F(CheckpointChoiceTest, WhetherThereIsOneIsSeenWithoutReadingIt) {
  const CheckpointPlace place{files_, log_, dir_.path()};
  EXPECT_FALSE(has_checkpoint({files_, log_, dir_ / "gone"}, {}));
  EXPECT_FALSE(has_checkpoint(place, {}));
  save(10);
  std::filesystem::resize_file(dir_ / "model.ckpt-10/model.safetensors", 100);
  EXPECT_TRUE(has_checkpoint(place, {}));
  EXPECT_TRUE(has_checkpoint(place, {.kind = Kind::kPath, .path = dir_ / "model.ckpt-10"}));
  EXPECT_THAT(log_.lines, IsEmpty());
  EXPECT_EQ(error_of([&] { has_checkpoint(place, {.kind = Kind::kPath, .path = dir_ / "no"}); }),
            "NOT_FOUND: [B4025] there is no '" + dir_ / "no" + "'");
  write_file(dir_ / "checkpoint", "no state");
  remove(10);
  EXPECT_FALSE(has_checkpoint(place, {}));
  EXPECT_EQ(log_.lines.size(), 1u);  // the state file cannot be used
}

TEST_F(CheckpointChoiceTest, BestIsTheFirstOfTheList) {
  save(10), save(20), save(30);
  EXPECT_EQ(chosen("best", [](const OpenDirectory&) { return std::vector<std::string>{"model.ckpt-20", "x"}; }), 20);
  const std::string none =
      "NOT_FOUND: [B4017] '" + dir_.path() + "' has no best checkpoints: set [checkpoint] keep_best";
  EXPECT_EQ(error("best"), none);
  EXPECT_EQ(error("best", [](const OpenDirectory&) { return std::vector<std::string>(); }), none);
  // A list that is there: keep_best is set.
  write_file(dir_ / "best", "{\"metric\": \"eval/loss\", \"mode\": \"min\", \"checkpoints\": []}");
  EXPECT_EQ(
      error("best"),
      "NOT_FOUND: [B4017] '" + dir_.path() +
          "' has no best checkpoint: eval/loss was not evaluated, was not finite, or a hook has put other weights "
          "into the place of those that were");
}

// By its list, in --checkpoint best and as a path.
TEST_F(CheckpointChoiceTest, WhereTheBestIsGoneOrDamagedTheNextBestIsTakenWithAWarning) {
  save(10), save(20), save(30);
  write_file(
      dir_ / "best",
      "{\"metric\": \"eval/loss\", \"mode\": \"min\", \"checkpoints\": [{\"step\": 30, \"value\": 1.0, \"path\": "
      "\"model.ckpt-30\"}, {\"step\": 10, \"value\": 2.0, \"path\": \"model.ckpt-10\"}]}");
  for (const std::string& choice : {std::string("best"), dir_ / "best"}) EXPECT_EQ(chosen(choice), 30) << choice;
  EXPECT_THAT(log_.lines, IsEmpty());
  remove(30);
  for (const std::string& choice : {std::string("best"), dir_ / "best"}) EXPECT_EQ(chosen(choice), 10) << choice;
  ASSERT_EQ(log_.lines.size(), 2u);
  EXPECT_THAT(log_.lines[0], HasSubstr("warning checkpoint: one of the best checkpoints is missing or damaged, the "
                                       "next best is taken: "));
  std::filesystem::resize_file(dir_ / "model.ckpt-10/model.safetensors", 100);
  EXPECT_THAT(error("best"), HasSubstr("none of the best checkpoints"));
}

TEST_F(CheckpointChoiceTest, WhereRetentionDeletesTheBestTheListIsReadAgain) {
  save(10), save(20), save(30);
  std::vector<std::string> best{"model.ckpt-20"};
  before_opening("model.ckpt-20/model.safetensors", [&] {
    remove(20);
    best = {"model.ckpt-30"};
  });
  EXPECT_EQ(chosen("best", [&](const OpenDirectory&) { return best; }), 30);
}

// At every file of it: the index, the saver's file when it is checked and when it is read, the state.
TEST_F(CheckpointChoiceTest, WhereRetentionDeletesTheLatestTheNewestIsTaken) {
  save(10);
  std::int64_t newest = 10;
  for (const char* part : {"index", "model.safetensors", "state.data", "state"}) {
    before_opening(checkpoint_name(newest) + "/" + part, [&] {
      for (int i = 0; i < 4; ++i) save(newest += 10);
    });
    log_.lines.clear();
    EXPECT_EQ(chosen("latest"), newest);
    EXPECT_THAT(log_.lines, ElementsAre("info checkpoint: the checkpoints of " + dir_.path() +
                                        " changed while one was read; looking again"))
        << part;
  }
}

TEST_F(CheckpointChoiceTest, WhatIsDeletedWhileItIsReadIsReadOfAnother) {
  save(10);
  const CheckpointPlace place{files_, log_, dir_.path()};
  std::vector<std::int64_t> read;
  with_checkpoint(place, parse_checkpoint_choice("latest"), [&](const CheckpointReader& reader) {
    const std::int64_t step = reader.state().global_step;
    read.push_back(step);
    if (step == 10)
      for (const std::int64_t next : {20, 30, 40, 50}) save(next);
    EXPECT_EQ(StepContent(step).difference(reader, saver_.use()), "");
  });
  EXPECT_THAT(read, ElementsAre(10, 50));
}

TEST_F(CheckpointChoiceTest, AStepThatIsDeletedMeanwhileIsNotThere) {
  save(10), save(20);
  before_opening("model.ckpt-10/model.safetensors", [&] { remove(10); });
  EXPECT_EQ(error("10"),
            "NOT_FOUND: [B4025] '" + dir_.path() + "' holds no model.ckpt-10; there are those of the steps 20");
}

TEST_F(CheckpointChoiceTest, AStepThatIsWrittenAgainMeanwhileIsReadWhole) {
  save(10);
  before_opening("model.ckpt-10/model.safetensors", [&] {
    remove(10);
    save(10);
  });
  EXPECT_EQ(chosen("10"), 10);
}

TEST_F(CheckpointChoiceTest, ADirectoryThatNeverStandsStillIsGivenUp) {
  save(10);
  std::int64_t newest = 10;
  int opened = 0;
  files_.before_open = [&](const std::string& path) {
    if (path != dir_ / (checkpoint_name(newest) + "/index")) return;
    ++opened;
    for (int i = 0; i < 4; ++i) save(newest += 10);
  };
  EXPECT_THAT(error("latest"), HasSubstr("none can be restored"));
  EXPECT_GE(opened, kChoiceAttempts);
}

// A damaged checkpoint beside a trainer that does not save meanwhile is looked at once.
TEST_F(CheckpointChoiceTest, DamageIsNoReasonToLookAgain) {
  save(10);
  std::filesystem::resize_file(dir_ / "model.ckpt-10/model.safetensors", 100);
  int opened = 0;
  files_.before_open = [&](const std::string& path) { opened += path.ends_with("/index") ? 1 : 0; };
  EXPECT_THAT(error("latest"), HasSubstr("none can be restored"));
  EXPECT_EQ(opened, 1);
}

TEST_F(CheckpointChoiceTest, NothingIsWrittenIntoADirectoryThatIsInUse) {
  save(10);
  const RunLock lock = RunLock::take(*run_, clock_);
  const std::vector<std::string> before = run_->entries();
  EXPECT_EQ(chosen("latest"), 10);  // files_ refuses every call that writes or locks
  EXPECT_EQ(run_->entries(), before);
}

// ---- into variables

class LoadCheckpoint : public CheckpointChoiceTest {
 protected:
  std::shared_ptr<DirectSession> session(const std::vector<std::pair<std::string, Tensor>>& variables) {
    const belay::Graph g = graph_.handle();
    for (const auto& [name, value] : variables) {
      const belay::Output made = belay::ops::variable(g, name, value);
      if (name == "global_step") g.collect(belay::collections::kGlobalStep, made);
    }
    graph_.finalize();
    auto made = std::make_shared<DirectSession>(graph_, std::make_shared<VariableStore>(), DirectSessionOptions{});
    made->run_once(graph_.collection("variable_init"));
    return made;
  }
  CheckpointPlace place() { return {files_, log_, dir_.path()}; }

  std::unique_ptr<OpRegistry> ops_ = make_op_registry();
  NodeGraph graph_{*ops_};
};

TEST_F(LoadCheckpoint, IntoASessionFillsItsVariablesAndLeavesTheRest) {
  save(40);
  const auto of_predict =
      session({{"dense/bias", Tensor(DType::kFloat64, {3})}, {"global_step", Tensor(std::int64_t{0})}});
  const UsedCheckpoint used = load_checkpoint(place(), parse_checkpoint_choice("latest"), saver_.use(), *of_predict);
  EXPECT_EQ(used.global_step, 40);
  const TensorView bias(of_predict->store().find("dense/bias")->value.view());
  EXPECT_EQ(bias.number(0), 60);
  EXPECT_EQ(bias.number(2), -3);
  EXPECT_EQ(of_predict->store().find("dense/kernel"), nullptr);
}

// An exporter or another program leaves this: model.safetensors without the rest of a checkpoint.
TEST_F(LoadCheckpoint, OneFileOfWeightsIsReadByItsName) {
  save(40);
  const std::string file = dir_ / "weights.safetensors";
  write_file(file, read_file(dir_ / "model.ckpt-40/model.safetensors"));
  const auto of_predict =
      session({{"dense/bias", Tensor(DType::kFloat64, {3})}, {"global_step", Tensor(std::int64_t{0})}});
  const UsedCheckpoint used = load_checkpoint(place(), parse_checkpoint_choice(file), saver_.use(), *of_predict);
  EXPECT_EQ(used.path, file);
  EXPECT_EQ(TensorView(of_predict->store().find("global_step")->value.view()).number(0), 40);
  EXPECT_EQ(TensorView(of_predict->store().find("dense/bias")->value.view()).number(0), 60);
}

TEST_F(LoadCheckpoint, OneFileOfWeightsIsReadIntoAStore) {
  save(40);
  const std::string file = dir_ / "weights.safetensors";
  write_file(file, read_file(dir_ / "model.ckpt-40/model.safetensors"));
  EXPECT_TRUE(has_checkpoint(place(), parse_checkpoint_choice(file)));
  check_checkpoint(place(), parse_checkpoint_choice(file));  // it does not ask for a directory
  VariableStore store;
  EXPECT_EQ(load_checkpoint(place(), parse_checkpoint_choice(file), saver_.use(), store).global_step, 40);
  EXPECT_EQ(TensorView(store.find("dense/bias")->value.view()).number(0), 60);
}

TEST_F(LoadCheckpoint, AFileWithoutAStepIsOfStepZero) {
  save(40);
  std::string bytes = read_file(dir_ / "model.ckpt-40/model.safetensors");
  const std::size_t name = bytes.find("global_step");
  ASSERT_NE(name, bytes.npos);
  bytes[name] = 'G';
  const std::string file = dir_ / "weights.safetensors";
  write_file(file, bytes);
  const auto of_predict =
      session({{"dense/bias", Tensor(DType::kFloat64, {3})}, {"global_step", Tensor(std::int64_t{7})}});
  EXPECT_EQ(load_checkpoint(place(), parse_checkpoint_choice(file), saver_.use(), *of_predict).global_step, 0);
  EXPECT_EQ(TensorView(of_predict->store().find("dense/bias")->value.view()).number(0), 60);
  VariableStore store;
  EXPECT_EQ(load_checkpoint(place(), parse_checkpoint_choice(file), saver_.use(), store).global_step, 0);
  EXPECT_TRUE(store.find("global_step")->initialized);
}

TEST_F(LoadCheckpoint, OneFileOfWeightsThatIsCutOrOfAnotherNameIsRefused) {
  save(40);
  const std::string bytes = read_file(dir_ / "model.ckpt-40/model.safetensors");
  const auto of_predict =
      session({{"dense/bias", Tensor(DType::kFloat64, {3})}, {"global_step", Tensor(std::int64_t{0})}});
  const auto error_with = [&](const std::string& name, const std::string& content) {
    write_file(dir_ / name, content);
    return error_of([&] { load_checkpoint(place(), parse_checkpoint_choice(dir_ / name), saver_.use(), *of_predict); });
  };
  EXPECT_THAT(error_with("cut.safetensors", bytes.substr(0, bytes.size() - 1)), HasSubstr("cut.safetensors"));
  EXPECT_THAT(error_with("weights.txt", bytes), HasSubstr("weights.txt' is a file; a checkpoint is a directory"));
  EXPECT_EQ(TensorView(of_predict->store().find("dense/bias")->value.view()).number(0), 0);
}

TEST_F(LoadCheckpoint, AllThatIsMissingOrOfAnotherShapeIsInOneError) {
  save(40);
  const auto other = session({{"dense/bias", Tensor(DType::kFloat64, {4})},
                              {"dense/kernel", Tensor(DType::kFloat64, {15})},
                              {"logits/kernel", Tensor(DType::kFloat32, {2, 2})},
                              {"logits/bias", Tensor(DType::kFloat32, {2})},
                              {"global_step", Tensor(std::int64_t{0})}});
  EXPECT_EQ(error_of([&] { load_checkpoint(place(), parse_checkpoint_choice("latest"), saver_.use(), *other); }),
            "FAILED_PRECONDITION: [B4032] the checkpoint '" + dir_ / "model.ckpt-40" +
                "' does not fit this model:\n"
                "  reshaped  dense/bias     float64 [4] in the graph, [3] in the checkpoint\n"
                "  re-typed  dense/kernel   float64 in the graph, float32 in the checkpoint\n"
                "  missing   logits/bias    float32 [2]\n"
                "  missing   logits/kernel  float32 [2, 2]\n"
                "it is of another model, or of other options of this one: use those with which it was trained");
  EXPECT_EQ(TensorView(other->store().find("dense/bias")->value.view()).number(0), 0);
}

TEST_F(LoadCheckpoint, IntoAStoreMakesItsVariables) {
  save(40);
  VariableStore store;
  load_checkpoint(place(), parse_checkpoint_choice("latest"), saver_.use(), store);
  std::vector<std::string> names;
  for (const Variable* v : store.all()) {
    names.push_back(v->name);
    EXPECT_TRUE(v->initialized);
  }
  EXPECT_THAT(names, ElementsAre("dense/bias", "dense/kernel", "global_step"));
  EXPECT_EQ(TensorView(store.find("dense/kernel")->value.view()).number(1), 40.125);
}

TEST_F(LoadCheckpoint, AFlippedBitIsFoundAndNothingIsInitialized) {
  save(40);
  std::string bytes = read_file(dir_ / "model.ckpt-40/model.safetensors");
  bytes.back() ^= 1;
  VariableStore store;
  // Behind the look at the files' checksums, before the saver reads.
  int opened = 0;
  files_.before_open = [&](const std::string& path) {
    if (path.ends_with("model.safetensors") && ++opened == 2)
      write_file(dir_ / "model.ckpt-40/model.safetensors", bytes);
  };
  EXPECT_THAT(error_of([&] { load_checkpoint(place(), parse_checkpoint_choice("latest"), saver_.use(), store); }),
              HasSubstr("has the CRC32C"));
  for (const Variable* v : store.all()) EXPECT_FALSE(v->initialized) << v->name;
}

}  // namespace
}  // namespace belay::runtime::testing
