// SPDX-License-Identifier: Apache-2.0
// The modes train_and_evaluate and continuous_eval through the real program.
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "runtime/estimator/resume/export_folder.h"
#include "tests/e2e/two_processes.h"

namespace belay::runtime::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(TwoProcesses, AnEvaluatorAndATrainerThatAreKilledAtRandomEndAsThoseThatAreNot) { expect_the_same_end(3, 4); }

TEST_F(TwoProcesses, AnEvaluatorOfAFinishedRunEvaluatesItsLastCheckpointAndEnds) {
  const ProcessResult trained = belay(training(manifest("run")));
  ASSERT_EQ(trained.status, 0) << trained.err;
  EXPECT_THAT(listing(run_dir()), Contains("finished"));
  const ProcessResult r = belay(evaluation(temp / "run.toml"));
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out, trained.out);
  EXPECT_THAT(r.err, HasSubstr("the evaluation of checkpoints ends: step 60 has come to run.max_steps"));
}

TEST_F(TwoProcesses, WithoutMaxStepsTheEndOfTheRunIsTheEnd) {
  const std::string path = manifest("run");
  ASSERT_EQ(belay(training(path)).status, 0);
  std::vector<std::string> arguments = evaluation(path);
  arguments.insert(arguments.end(), {"--set", "run.max_steps=1000"});
  const ProcessResult r = belay(arguments);
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the evaluation of checkpoints ends: the training there has come to its end"));
}

TEST_F(TwoProcesses, ARunThatASignalEndsIsNotFinished) {
  const std::string path = manifest("run");
  BelayProcess run({"run", path, "--set", "run.max_steps=100000"});
  ASSERT_TRUE(run.wait_for("saved "));
  run.kill(SIGTERM);
  EXPECT_EQ(run.wait().signal, SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(run_dir() + "/finished"));
}

TEST_F(TwoProcesses, WithoutACheckpointTheTimeoutIsAnErrorOfTheUsage) {
  std::vector<std::string> arguments = evaluation(manifest("none"));
  arguments.insert(arguments.end(), {"--set", "eval.timeout_secs=0"});
  const ProcessResult r = belay(arguments);
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(r.err, HasSubstr("no checkpoint was evaluated: there was no new one in "));
  EXPECT_THAT(r.err, HasSubstr("within eval.timeout_secs = 0"));
  EXPECT_THAT(r.out, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(temp / "none"));
}

TEST_F(TwoProcesses, ASignalEndsAnEvaluatorThatWaits) {
  BelayProcess evaluator(evaluation(manifest("none")));
  ASSERT_TRUE(evaluator.wait_for("waiting for the checkpoints of "));
  evaluator.kill(SIGTERM);
  EXPECT_EQ(evaluator.wait().signal, SIGTERM);
}

TEST_F(TwoProcesses, TrainAndEvaluateEvaluatesBehindEachCheckpoint) {
  const ProcessResult r = belay({"run", manifest("run"), "--set", "run.mode=train_and_evaluate"});
  ASSERT_EQ(r.status, 0) << r.err;
  for (const char* step : {"10", "20", "30", "40", "50", "60"})
    EXPECT_EQ(lines_with(r.err, "step " + std::string(step) + ": loss = ").size(), 1u) << step << "\n" << r.err;
  EXPECT_EQ(last_line(r.out).rfind("eval at step 60 on 160 examples: loss = ", 0), 0u);
}

// ---- exports ----

// One of each kind.
class TwoProcessesThatExport : public TwoProcesses {
 protected:
  static constexpr const char* kExporters =
      "[[exporters]]\nplugin = \"belay\"\n"
      "[[exporters]]\nplugin = \"onnx\"\nwhen = \"latest\"\nkeep = 100\n"
      "[[exporters]]\nplugin = \"safetensors\"\nwhen = \"best\"\nkeep = 100\n";

  // Returns the contents of the versions, the oldest first.
  std::vector<ExportRecord> exports_of(const std::string& exporter) const {
    const std::string folder = run_dir() + "/export/" + exporter;
    std::vector<ExportRecord> found;
    if (!std::filesystem::exists(folder)) return found;
    for (const std::string& name : listing(folder))
      if (is_export_version(name)) found.push_back(parse_export_record(contents(folder + "/" + name + "/export.json")));
    return found;
  }
};

TEST_F(TwoProcessesThatExport, TheEvaluatorWritesTheLatestAndTheBestAndLeavesTheFinalOneToTheTraining) {
  ASSERT_EQ(belay(training(manifest("run"))).status, 0);  // without exporters
  const std::string path = manifest("run", kExporters);
  const ProcessResult r = belay(evaluation(path));
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(exports_of("belay"), IsEmpty());
  ASSERT_THAT(exports_of("onnx"), SizeIs(1)) << r.err;
  EXPECT_EQ(exports_of("onnx")[0].global_step, kSteps);
  ASSERT_THAT(exports_of("safetensors"), SizeIs(1)) << r.err;
  EXPECT_EQ(exports_of("safetensors")[0].metric, "eval/loss");
  EXPECT_TRUE(exports_of("safetensors")[0].value);

  const ProcessResult again = belay(evaluation(path));
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(exports_of("onnx"), SizeIs(2));
  EXPECT_THAT(exports_of("safetensors"), SizeIs(1)) << "no better than the one that is there";
}

TEST_F(TwoProcessesThatExport, BothAtOnceShareTheFoldersAndEachBestIsBetterThanTheOneBefore) {
  const std::string path = manifest("run", kExporters);
  BelayProcess trainer(training(path));
  BelayProcess evaluator(evaluation(path));
  const ProcessResult trained = trainer.wait(), evaluated = evaluator.wait();
  ASSERT_EQ(trained.status, 0) << trained.err;
  ASSERT_EQ(evaluated.status, 0) << evaluated.err;
  ASSERT_THAT(exports_of("belay"), SizeIs(1));
  EXPECT_EQ(exports_of("belay")[0].global_step, kSteps);
  ASSERT_THAT(exports_of("onnx"), Not(IsEmpty()));
  EXPECT_EQ(exports_of("onnx").back().global_step, kSteps);
  ASSERT_THAT(exports_of("safetensors"), Not(IsEmpty()));
  double best = std::numeric_limits<double>::infinity();
  for (const ExportRecord& record : exports_of("safetensors")) {
    EXPECT_LT(record.value.value(), best);
    best = record.value.value();
  }
}

TEST_F(TwoProcessesThatExport, AnExportThatFailsEndsTheEvaluatorAndNothingElse) {
  ASSERT_EQ(belay(training(manifest("run"))).status, 0);
  std::filesystem::create_directory(run_dir() + "/export");
  write_file(run_dir() + "/export/onnx", "a file where a folder should be");
  std::vector<std::string> arguments = evaluation(manifest("run", kExporters));
  arguments.insert(arguments.end(), {"--set", "eval.on_error=continue"});
  const ProcessResult warned = belay(arguments);
  EXPECT_EQ(warned.status, 0) << warned.err;
  EXPECT_THAT(warned.err, HasSubstr("warning onnx: step 60 was not exported: "));
  for (const char* exporter : {"0", "1", "2"})
    arguments.insert(arguments.end(), {"--set", std::string("exporters.") + exporter + ".on_error=stop"});
  const ProcessResult r = belay(arguments);
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.err, HasSubstr("export/onnx"));
  EXPECT_THAT(r.out, HasSubstr("eval at step 60 on 160 examples"));
}

TEST_F(TwoProcessesThatExport, AMetricThatNoEvaluationHasIsRefusedBeforeTheFirst) {
  std::vector<std::string> arguments = evaluation(manifest("run", kExporters));
  arguments.insert(arguments.end(), {"--set", "checkpoint.best_metric=eval/los", "--set", "checkpoint.best_mode=min"});
  const ProcessResult r = belay(arguments);
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(r.err, HasSubstr("did you mean \"eval/loss\"?"));
}

}  // namespace
}  // namespace belay::runtime::testing
