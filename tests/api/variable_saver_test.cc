// SPDX-License-Identifier: Apache-2.0
#include <belay/runtime/checkpoint.h>
#include <belay/runtime/session.h>
#include <belay/runtime/variable_saver.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/monitored/run/run_directory.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"
#include "runtime/platform/threads/clock.h"
#include "tests/api/program.h"

namespace belay {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

class VariableSaverTest : public ProgramTest {
 protected:
  // The graph of w, b and a global step that `more` counts.
  OwnedSession& open() {
    if (session_ == nullptr) {
      const Output init = graph.global_variables_initializer();
      session_ = std::make_unique<OwnedSession>(graph);
      session_->run({init});
    }
    return *session_;
  }
  std::vector<float> value(const Output& variable) {
    const RunResult result = open().run({variable});
    const float* begin = result[0].data<const float>();
    return {begin, begin + result[0].size()};
  }
  void set(const char* name, const Tensor& value) { open().assign(name, value); }
  std::vector<std::string> entries(const std::string& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(temp / folder)) names.push_back(entry.path().filename());
    return names;
  }

  OwnedGraph graph{default_plugins()};
  const Output w = ops::variable(graph, "w", Tensor({2}, {1.f, 2.f}));
  const Output b = ops::variable(graph, "b", Tensor(3.0f));
  const Output step = ops::create_global_step(graph);
  const Output more = ops::assign_add(step, ops::constant(graph, Tensor(std::int64_t{1})));

 private:
  std::unique_ptr<OwnedSession> session_;
};

TEST_F(VariableSaverTest, T_139_SavesAllVariablesIntoOneFileAndRestoresThem) {
  VariableSaver saver(graph);
  const std::string path = saver.save(open(), temp / "new/weights.safetensors");
  EXPECT_EQ(path, temp / "new/weights.safetensors");
  EXPECT_THAT(entries("new"), ElementsAre("weights.safetensors")) << "one file, and nothing beside it";
  set("w", Tensor({2}, {8.f, 9.f}));
  set("b", Tensor(7.0f));
  saver.restore(open(), path);
  EXPECT_THAT(value(w), ElementsAre(1.f, 2.f));
  EXPECT_THAT(value(b), ElementsAre(3.f));

  set("w", Tensor({2}, {4.f, 5.f}));
  saver.save(open(), path);
  EXPECT_THAT(entries("new"), ElementsAre("weights.safetensors")) << "it was replaced";
  set("w", Tensor({2}, {0.f, 0.f}));
  saver.restore(open(), path);
  EXPECT_THAT(value(w), ElementsAre(4.f, 5.f));
  EXPECT_THAT(saver.last_checkpoints(), ElementsAre());
}

TEST_F(VariableSaverTest, T_139_SavesAndRestoresChosenVariables) {
  VariableSaver saver(graph, {w});
  const std::string path = saver.save(open(), temp / "w.safetensors");
  const CheckpointReader stored(path, default_plugins());
  ASSERT_EQ(stored.entries().size(), 1u);
  EXPECT_EQ(stored.entries()[0].name, "w");
  set("w", Tensor({2}, {8.f, 9.f}));
  set("b", Tensor(7.0f));
  saver.restore(open(), path);
  EXPECT_THAT(value(w), ElementsAre(1.f, 2.f));
  EXPECT_THAT(value(b), ElementsAre(7.f)) << "it was not chosen";
}

TEST_F(VariableSaverTest, T_139_NamesInTheFileAreTheProgramsOwn) {
  const VariableSaverOptions options{.max_to_keep = 1};
  VariableSaver saver(graph, {{"encoder/kernel", w}, {"a", b}}, options);
  const std::string path = saver.save(open(), temp / "saves/part", 12);
  EXPECT_EQ(path, temp / "saves/part-12");
  const CheckpointReader stored(path, default_plugins());
  EXPECT_EQ(stored.global_step(), 12);
  ASSERT_EQ(stored.entries().size(), 2u);
  EXPECT_EQ(stored.entries()[0].name, "a");
  EXPECT_EQ(stored.entries()[1].name, "encoder/kernel");
  const std::map<std::string, Output> as_map{{"encoder/kernel", w}};
  VariableSaver by_map(graph, as_map);
  set("w", Tensor({2}, {8.f, 9.f}));
  by_map.restore(open(), path);
  EXPECT_THAT(value(w), ElementsAre(1.f, 2.f));
}

TEST_F(VariableSaverTest, T_139_CheckpointsAreKeptAndListedAsThoseOfTrainings) {
  const std::string base = temp / "saves/model.ckpt";
  {
    VariableSaver saver(graph, {.max_to_keep = 2});
    for (int i = 1; i <= 3; ++i) {
      open().run({more});
      EXPECT_EQ(saver.save(open(), base), base + "-" + std::to_string(i));
    }
    EXPECT_THAT(saver.last_checkpoints(), ElementsAre(base + "-2", base + "-3"));
    EXPECT_FALSE(fs::exists(base + "-1"));
    EXPECT_EQ(latest_checkpoint(temp / "saves"), base + "-3");
  }
  VariableSaver again(graph, {.max_to_keep = 2});
  open().run({more});
  again.save(open(), base);
  EXPECT_THAT(again.last_checkpoints(), ElementsAre(base + "-3", base + "-4"))
      << "a later start continues with the list";
  again.restore(open(), base + "-3");
  EXPECT_EQ(open().global_step(), 3);
  again.restore(open(), temp / "saves");
  EXPECT_EQ(open().global_step(), 4) << "the newest of the folder";
}

TEST_F(VariableSaverTest, T_139_ATrainingBeginsWithWhatWasSaved) {
  open().run({more});
  const std::string path = VariableSaver(graph).save(open(), temp / "saves/model.ckpt");
  OwnedGraph other(default_plugins());
  const Output weight = ops::variable(other, "w", Tensor({2}, {0.f, 0.f}));
  ops::variable(other, "b", Tensor(0.0f));
  ops::create_global_step(other);
  TrainingSessionOptions o = options();
  o.checkpoint_filename_with_path = path;
  MonitoredTrainingSession session(other, o);
  EXPECT_EQ(session.global_step(), 1);
  EXPECT_EQ(session.run({weight})[0].data<const float>()[1], 2.f);
  VariableSaver saver(other);
  EXPECT_EQ(saver.save(session.session(), temp / "again/model.ckpt"), temp / "again/model.ckpt-1");
  session.close();
}

TEST_F(VariableSaverTest, T_139_WhatIsMissingOrDoesNotFitIsNamedAndNothingIsChanged) {
  const std::string path = VariableSaver(graph, {{"kernle", w}, {"b", b}}).save(open(), temp / "w.safetensors");
  set("b", Tensor(7.0f));
  VariableSaver missing(graph, {{"kernel", w}, {"b", b}});
  EXPECT_THAT(error_of([&] { missing.restore(open(), path); }),
              AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr(path), HasSubstr("missing"),
                    HasSubstr("kernel  float32 [2]; saved as 'kernle'?")));
  VariableSaver reshaped(graph, {{"kernle", b}});
  EXPECT_THAT(error_of([&] { reshaped.restore(open(), path); }),
              HasSubstr("kernle  float32 [] in the graph, [2] in the checkpoint"));
  VariableSaver retyped(graph, {{"b", step}});
  EXPECT_THAT(error_of([&] { retyped.restore(open(), path); }),
              HasSubstr("b  int64 in the graph, float32 in the checkpoint"));
  EXPECT_THAT(value(b), ElementsAre(7.f));
  EXPECT_THAT(error_of([&] { missing.restore(open(), temp / "none.safetensors"); }), HasSubstr("none.safetensors"));
}

TEST_F(VariableSaverTest, T_139_ADamagedCheckpointChangesNothing) {
  VariableSaver saver(graph);
  const std::string path = saver.save(open(), temp / "saves/model.ckpt");
  const std::string file = path + "/model.safetensors";
  {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(-1, std::ios::end);
    bytes.put('\x55');
  }
  set("b", Tensor(7.0f));
  EXPECT_THAT(error_of([&] { saver.restore(open(), path); }), HasSubstr("DATA_LOSS"));
  EXPECT_THAT(value(b), ElementsAre(7.f));
}

TEST_F(VariableSaverTest, T_139_ASaveThatFailsLeavesWhatWasThere) {
  VariableSaver saver(graph);
  const std::string path = saver.save(open(), temp / "folder/w.safetensors");
  set("b", Tensor(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_THAT(error_of([&] { saver.save(open(), path); }), AllOf(HasSubstr("DIVERGED"), HasSubstr("'b'")));
  EXPECT_THAT(entries("folder"), ElementsAre("w.safetensors"));
  saver.restore(open(), path);
  EXPECT_THAT(value(b), ElementsAre(3.f));

  set("b", Tensor(std::numeric_limits<float>::infinity()));
  VariableSaver all(graph, {.refuse_non_finite = false});
  all.save(open(), path);
  set("b", Tensor(0.0f));
  all.restore(open(), path);
  EXPECT_THAT(value(b), ElementsAre(std::numeric_limits<float>::infinity()));
}

TEST_F(VariableSaverTest, T_139_AVariableWithoutAValueIsNamed) {
  open();
  OwnedSession fresh(graph);
  VariableSaver saver(graph, {b});
  EXPECT_THAT(error_of([&] { saver.save(fresh, temp / "b.safetensors"); }),
              HasSubstr("FAILED_PRECONDITION: [B5073] variable 'b' is not initialized"));
  EXPECT_FALSE(fs::exists(temp / "b.safetensors"));
  const std::string path = VariableSaver(graph, {b}).save(open(), temp / "b.safetensors");
  saver.restore(fresh, path);
  EXPECT_EQ(fresh.run({b})[0].scalar<float>(), 3.f) << "a restore initializes";
}

TEST_F(VariableSaverTest, T_139_TheFolderOfATrainingAndOneInUseAreRefused) {
  VariableSaver saver(graph);
  train_to("run", 3);
  EXPECT_THAT(
      error_of([&] { saver.save(open(), temp / "run/model.ckpt"); }),
      AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("'" + (temp / "run") + "' is the directory of a training")));
  EXPECT_EQ(latest_checkpoint(temp / "run"), temp / "run/model.ckpt-3");

  const auto log_of_other =
      runtime::make_stderr_logger(runtime::LogFormat::kText, LogLevel::kError, runtime::system_clock());
  const runtime::RunDirectory other =
      runtime::RunDirectory::open(runtime::posix_file_system(), temp / "used", runtime::system_clock(), *log_of_other);
  EXPECT_THAT(error_of([&] { saver.save(open(), temp / "used/model.ckpt"); }), HasSubstr("FAILED_PRECONDITION"));
  EXPECT_EQ(latest_checkpoint(temp / "used"), "");
}

TEST_F(VariableSaverTest, T_139_WhatCannotBeSavedSoIsSaid) {
  EXPECT_THAT(error_of([&] { VariableSaver(graph, std::vector<Output>{}); }),
              HasSubstr("the list of variables is empty"));
  EXPECT_THAT(error_of([&] { VariableSaver(graph, {more}); }), HasSubstr("is not one of this graph's variables"));
  const Output local = ops::variable(graph, "n", Tensor(0.0f), ops::VariableKind::kLocal);
  EXPECT_THAT(error_of([&] { VariableSaver(graph, {local}); }), HasSubstr("is not one of this graph's variables"));
  EXPECT_THAT(error_of([&] {
                VariableSaver(graph, {w, w});
              }),
              HasSubstr("[B5056] two variables are to be stored as 'w'"));
  OwnedGraph empty;
  EXPECT_THAT(error_of([&] { VariableSaver{empty}; }), HasSubstr("the graph has no variable yet"));

  VariableSaver saver(graph);
  EXPECT_THAT(error_of([&] { saver.save(open(), temp / "w.safetensors", 3); }),
              HasSubstr("only checkpoints have steps"));
  OwnedGraph bare;
  const Output alone = ops::variable(bare, "alone", Tensor(1.0f));
  const Output init = bare.global_variables_initializer();
  OwnedSession other(bare);
  other.run({init});
  EXPECT_THAT(error_of([&] { saver.save(other, temp / "w.safetensors"); }), HasSubstr("over another graph"));
  VariableSaver of_bare(bare, {alone});
  EXPECT_THAT(error_of([&] { of_bare.save(other, temp / "saves/model.ckpt"); }),
              HasSubstr("the graph has no global step"));
  EXPECT_THAT(error_of([&] { of_bare.save(other, temp / "saves/model.ckpt", 1); }), HasSubstr("safetensors"))
      << "a graph without plugins has no saver";
}

}  // namespace
}  // namespace belay
