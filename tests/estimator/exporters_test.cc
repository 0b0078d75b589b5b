// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/export/exporters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "belay/testing/error_of.h"
#include "runtime/estimator/host/model_graph.h"
#include "runtime/estimator/host/run_plugins.h"
#include "runtime/estimator/resume/export_folder.h"
#include "runtime/ops/registry.h"
#include "tests/platform/fake_clock.h"
#include "tests/platform/temp_dir.h"

extern "C" const belay_module belay_module_mlp;
extern "C" const belay_module belay_module_safetensors_exporter;

namespace belay::runtime {
namespace {

namespace fs = std::filesystem;
using belay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class ExportersTest : public ::testing::Test {
 protected:
  ExportersTest() : log_(make_stderr_logger(LogFormat::kText, LogLevel::kError, clock_)), ops_(make_op_registry()) {
    start();
  }

  // A separate process, as after a preemption.
  void start() { start_in(temp_.path()); }
  void start_in(const std::string& dir) {
    exporters_.reset();
    graph_.reset();
    plugins_.reset();
    run_.emplace(Platform{clock_, *log_, posix_file_system()}, control_, RunHostOptions{.dir = dir, .threads = 1});
    plugins_.emplace(*run_, std::vector<const belay_module*>{&belay_module_mlp, &belay_module_safetensors_exporter});
    exporters_ = std::make_unique<Exporters>(
        *run_, ExportersOptions{.directory = dir + "/export", .best_metric = "eval/loss", .better = Better::kSmaller});
  }
  void add(ExportWhen when, std::int64_t keep = 5, const std::string& signature = "",
           OnExportError on_error = OnExportError::kContinue) {
    const FoundUse use = plugins_->linked(PluginKind::kExporter, plugin_use("safetensors", {}, "the test"));
    exporters_->add(plugins_->create(use, run_->monitor()), {when, keep, signature, on_error});
  }
  void build() {
    const FoundUse use =
        plugins_->linked(PluginKind::kModel, plugin_use("mlp", {{"hidden", std::vector<std::int64_t>{3}}}, "the test"));
    InputComponent x, y;
    x.name = "x", x.dtype = DType::kFloat32, x.dims = {-1, 4};
    y.label = true, y.name = "y", y.dtype = DType::kInt64, y.dims = {-1}, y.classes = 2;
    graph_.emplace(*ops_, Mode::kPredict);
    graph_->build_over_placeholders(plugins_->create(use, run_->monitor()), {x, y});
    exporters_->use_model("mlp", graph_->graph, graph_->tensors.features, graph_->outputs);
    exporters_->use_plugins(plugins_->registry());
    const NodeGraph& graph = graph_->graph;
    for (const Port& p : graph.collection(collections::kGlobalVariables)) {
      const auto& [dtype, shape] = graph.spec(p);
      store_.find_or_create(graph.node(p.node).name, dtype, shape.dims(), true).initialized = true;
    }
  }
  // How many exports an evaluation makes.
  std::size_t evaluated(std::optional<double> loss) {
    clock_.advance(FakeClock::kSecond);
    return exporters_->evaluated(store_, ++step_, loss).size();
  }
  std::vector<std::string> versions() const {
    std::vector<std::string> found;
    if (!fs::exists(folder())) return found;
    for (const auto& entry : fs::directory_iterator(folder()))
      if (entry.is_directory()) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }
  std::string folder() const { return temp_ / "export/safetensors"; }

  TempDir temp_;
  FakeClock clock_;
  std::unique_ptr<Logger> log_;
  RunControl control_;
  std::unique_ptr<OpRegistry> ops_;
  std::optional<RunHost> run_;
  std::optional<RunPlugins> plugins_;
  std::optional<ModelGraph> graph_;
  std::unique_ptr<Exporters> exporters_;
  VariableStore store_;
  std::int64_t step_ = 0;
};

TEST_F(ExportersTest, EXPO_01_AtLeastOneExportStays) {
  EXPECT_THAT(error_of([&] { add(ExportWhen::kBest, 0); }), HasSubstr("keep is 0, must be at least 1"));
}

TEST_F(ExportersTest, EXPO_02_TheBestIsExportedWhenItIsStrictlyBetter) {
  add(ExportWhen::kBest);
  build();
  EXPECT_EQ(evaluated(0.5), 1u);
  EXPECT_EQ(evaluated(0.6), 0u);
  EXPECT_EQ(evaluated(0.5), 0u);
  EXPECT_EQ(evaluated(0.4), 1u);
  EXPECT_EQ(evaluated(std::numeric_limits<double>::quiet_NaN()), 0u);
  EXPECT_EQ(evaluated(std::nullopt), 0u);
  EXPECT_THAT(versions(), SizeIs(2));
}

// Where TensorFlow exports the first evaluation of each process, however bad.
TEST_F(ExportersTest, EXPO_03_ARunThatGoesOnKnowsItsBest) {
  add(ExportWhen::kBest);
  build();
  EXPECT_EQ(evaluated(50), 1u);
  start();
  add(ExportWhen::kBest);
  build();
  EXPECT_EQ(evaluated(100), 0u);
  EXPECT_EQ(evaluated(10), 1u);
  EXPECT_EQ(evaluated(20), 0u);
}

TEST_F(ExportersTest, EXPO_05_TheLatestIsExportedAlwaysTheFinalAtTheEnd) {
  add(ExportWhen::kLatest);
  build();
  EXPECT_EQ(evaluated(1), 1u);
  EXPECT_EQ(evaluated(2), 1u);
  EXPECT_TRUE(exporters_->ended(store_, 2).empty());
  start();
  add(ExportWhen::kFinal);
  build();
  EXPECT_EQ(evaluated(1), 0u);
  EXPECT_EQ(exporters_->ended(store_, 3).size(), 1u);
}

TEST_F(ExportersTest, T_170_AnExportThatFailsBehindAnEvaluationEndsNoTrainingUnlessItIsToldTo) {
  std::ofstream(temp_ / "export") << "no directory";
  add(ExportWhen::kLatest);
  build();
  EXPECT_EQ(evaluated(1), 0u);
  EXPECT_THAT(error_of([&] { exporters_->write_all(store_, 1, std::nullopt); }), HasSubstr("export"));
  fs::remove(temp_ / "export");
  EXPECT_EQ(evaluated(2), 1u);
  start();
  fs::remove_all(temp_ / "export");
  std::ofstream(temp_ / "export") << "no directory";
  add(ExportWhen::kBest, 5, "", OnExportError::kStop);
  build();
  EXPECT_THAT(error_of([&] { evaluated(1); }), HasSubstr("export"));
}

// `belay export`, for example, knows of no evaluation.
TEST_F(ExportersTest, EXPO_03_AnExportThatWasNotEvaluatedIsNoneToBeat) {
  add(ExportWhen::kBest);
  build();
  EXPECT_EQ(evaluated(0.5), 1u);
  exporters_->write_all(store_, step_, std::nullopt);
  EXPECT_EQ(evaluated(0.6), 0u);
  EXPECT_EQ(evaluated(0.4), 1u);
  EXPECT_THAT(versions(), SizeIs(3));
}

TEST_F(ExportersTest, WhetherOneIsDueIsKnownWithoutAModel) {
  add(ExportWhen::kFinal);
  EXPECT_FALSE(exporters_->due(1, false));
  EXPECT_TRUE(exporters_->due(1, true));
  start();
  add(ExportWhen::kLatest);
  EXPECT_TRUE(exporters_->due(std::nullopt, false));
  start();
  add(ExportWhen::kBest);
  EXPECT_FALSE(exporters_->due(std::nullopt, true));
  EXPECT_TRUE(exporters_->due(1, false));
  build();
  EXPECT_EQ(evaluated(1), 1u);
  EXPECT_FALSE(exporters_->due(1, true));
  EXPECT_TRUE(exporters_->due(0.5, false));
}

TEST_F(ExportersTest, T_167_AnExportFollowsNoLinkOutOfTheRunDirectory) {
  add(ExportWhen::kBest, 5, "", OnExportError::kStop);
  build();
  const fs::path elsewhere = std::string(temp_ / "elsewhere");
  fs::create_directory(elsewhere);
  for (const fs::path& link : {fs::path(folder()), fs::path(folder()).parent_path()}) {
    fs::create_directories(link.parent_path());
    fs::create_directory_symlink(elsewhere, link);
    EXPECT_THAT(error_of([&] { evaluated(0.25); }), HasSubstr("'" + link.string() + "' is a symbolic link"));
    fs::remove_all(fs::path(folder()).parent_path());
  }
  EXPECT_TRUE(fs::is_empty(elsewhere));
}

TEST_F(ExportersTest, T_169_ExportsOfARunDirectoryThatWasMovedAreInIt) {
  start_in(temp_ / "run");
  run_->take_directory();
  run_->keep_directory();
  add(ExportWhen::kLatest, 5, "", OnExportError::kStop);
  build();
  EXPECT_EQ(evaluated(0.5), 1u);
  fs::rename(std::string(temp_ / "run"), std::string(temp_ / "moved"));
  EXPECT_EQ(evaluated(0.25), 1u);
  EXPECT_FALSE(fs::exists(std::string(temp_ / "run"))) << "nothing comes into being at the old path";
  std::size_t versions = 0;
  for (const auto& entry : fs::directory_iterator(std::string(temp_ / "moved/export/safetensors")))
    versions += entry.is_directory() ? 1 : 0;
  EXPECT_EQ(versions, 2u);
}

TEST_F(ExportersTest, AnExportSaysWhatItIs) {
  add(ExportWhen::kBest);
  build();
  evaluated(0.25);
  const ExportFolder folder(posix_file_system().open_directory(this->folder()), clock_, *log_);
  const std::optional<ExportRecord> newest = folder.newest_best("eval/loss");
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->exporter, "safetensors");
  EXPECT_EQ(newest->model, "mlp");
  EXPECT_EQ(newest->global_step, 1);
  EXPECT_EQ(newest->metric, "eval/loss");
  EXPECT_EQ(newest->value, 0.25);
  EXPECT_THAT(newest->files, SizeIs(2));
}

TEST_F(ExportersTest, OlderVersionsGoBehindEachExport) {
  add(ExportWhen::kLatest, 2);
  build();
  for (int i = 0; i < 4; ++i) evaluated(1);
  EXPECT_THAT(versions(), SizeIs(2));
}

TEST_F(ExportersTest, TwoExportsOfOneSecondAreTwoVersions) {
  add(ExportWhen::kLatest);
  build();
  exporters_->evaluated(store_, 1, 1);
  exporters_->evaluated(store_, 2, 1);
  EXPECT_THAT(versions(), ElementsAre("1704067200", "1704067201"));
}

TEST_F(ExportersTest, ASignatureThatTheModelLacksIsRefused) {
  add(ExportWhen::kFinal, 1, "classify");
  EXPECT_THAT(error_of([&] { build(); }), HasSubstr("[B5040] the model has no signature \"classify\""));
}

TEST_F(ExportersTest, AVariableWithoutAValueLeavesNoVersion) {
  add(ExportWhen::kFinal);
  build();
  store_.find("logits/bias")->initialized = false;
  EXPECT_THAT(error_of([&] { exporters_->ended(store_, 1); }), HasSubstr("logits/bias"));
  EXPECT_TRUE(versions().empty());
}

// ---- the folder ----

class ExportFolderTest : public ::testing::Test {
 protected:
  std::vector<std::string> entries() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(temp_.path())) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }
  ExportFolder open() { return ExportFolder(posix_file_system().open_directory(temp_.path()), clock_, *log_); }

  TempDir temp_;
  FakeClock clock_;
  std::unique_ptr<Logger> log_ = make_stderr_logger(LogFormat::kText, LogLevel::kError, clock_);
};

TEST_F(ExportFolderTest, EXPO_06_OnlyDirectoriesOfTenDigitsAreCollectedTheOldestFirst) {
  for (const char* name : {"1000000001", "1000000002", "1000000003", "1000000004", "notes", "100000000"})
    fs::create_directory(temp_ / name);
  std::ofstream(temp_ / "1000000000") << "a file";
  open().collect(2);
  EXPECT_THAT(entries(), ElementsAre("100000000", "1000000000", "1000000003", "1000000004", "lock", "notes"));
}

TEST_F(ExportFolderTest, WhatFailsLeavesNothing) {
  ExportFolder folder = open();
  EXPECT_THAT(error_of([&] {
                folder.add([](OpenDirectory& directory) -> ExportRecord {
                  directory.create("half")->write("x", 1);
                  fail(Code::kResourceExhausted, "the disk is full");
                });
              }),
              HasSubstr("the disk is full"));
  EXPECT_THAT(entries(), ElementsAre("lock"));
}

TEST_F(ExportFolderTest, WhatAKilledProcessLeftIsRemoved) {
  fs::create_directories(temp_ / ".1000000001.tmp-0123456789abcdef/deep");
  open();
  EXPECT_THAT(entries(), ElementsAre("lock"));
}

TEST_F(ExportFolderTest, WhoComesSecondWaitsForTheFirst) {
  std::optional<ExportFolder> first;
  first.emplace(posix_file_system().open_directory(temp_.path()), clock_, *log_);
  std::string second = "still waiting";
  std::thread waiter([&] { second = error_of([&] { open(); }); });
  clock_.await_waiters(1);
  first.reset();
  clock_.advance(FakeClock::kSecond);
  waiter.join();
  EXPECT_EQ(second, "");
}

TEST_F(ExportFolderTest, TwoProcessesDoNotWriteAtOnce) {
  const ExportFolder first = open();
  std::string error;
  std::thread waiter([&] { error = error_of([&] { open(); }); });
  clock_.await_waiters(1);
  clock_.advance(31 * FakeClock::kSecond);
  waiter.join();
  EXPECT_THAT(error, HasSubstr("[B5040] another process is writing an export into"));
}

TEST_F(ExportFolderTest, AVersionIsNewerThanThoseThereEvenIfTheClockWentBack) {
  fs::create_directory(temp_ / "2000000000");
  const std::string path = open().add([](OpenDirectory&) { return ExportRecord{"e", "m", 1}; });
  EXPECT_EQ(path, temp_ / "2000000001");
}

// Its seconds were no version's name: the second export reported that '' is no name for an entry.
TEST_F(ExportFolderTest, T_171_AClockBefore1970OrAfter2262IsNamedAndExportsAreNumberedFrom1) {
  std::vector<std::string> lines;
  LogOutput output;
  output.write = [&](std::string_view text) {
    lines.emplace_back(text);
    return true;
  };
  FakeClock wrong(-5 * FakeClock::kSecond);  // also what nanoseconds beyond 2262 wrap to
  const std::unique_ptr<Logger> log = make_logger(output, LogFormat::kText, LogLevel::kInfo, wrong);
  ExportFolder folder(posix_file_system().open_directory(temp_.path()), wrong, *log);
  const auto nothing = [](OpenDirectory&) { return ExportRecord(); };
  EXPECT_EQ(folder.add(nothing), temp_ / "0000000001");
  EXPECT_EQ(folder.add(nothing), temp_ / "0000000002");
  log->flush();
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0],
              HasSubstr("the machine's clock is wrong: it shows a time before 1970 or after 2262. Exports in '" +
                        temp_.path() + "' are numbered from 1 and not by their seconds; set the clock"));
}

TEST_F(ExportFolderTest, ARecordThatIsNoneIsNamed) {
  EXPECT_THAT(error_of([] { parse_export_record("{}"); }), HasSubstr("export.json is not what belay writes"));
}

}  // namespace
}  // namespace belay::runtime
