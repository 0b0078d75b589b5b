// SPDX-License-Identifier: Apache-2.0
#include <belay/runtime/run.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "tests/api/program.h"

namespace belay {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

class ManifestRunTest : public ProgramTest {
 protected:
  ManifestRunTest() {
    write(R"([run]
dir = "run"
max_steps = 6
threads = 1
[input.train]
plugin = "digits"
examples = 64
[input.eval]
plugin = "digits"
examples = 32
epochs = 1
[model]
plugin = "linear"
classes = 10
[optimizer]
name = "sgd"
learning_rate = 0.01
)");
  }
  void write(const std::string& manifest) { std::ofstream(file) << manifest; }
  ManifestRunOptions with(const std::vector<std::string>& sets = {}) {
    ManifestRunOptions o{.sets = sets, .plugin_path = {BELAY_BINARY_DIR "/plugins"}};
    o.log = log_options();
    return o;
  }

  const std::string file = temp / "train.toml";
};

TEST_F(ManifestRunTest, TrainsEvaluatesAndGoesOn) {
  int progress = 0;
  ManifestRunOptions options = with();
  options.on_progress = [&](ManifestRun&) { ++progress; };
  ManifestRun run(file, options);
  ASSERT_TRUE(run.ok()) << run.problems_text();
  const RunReport report = run.run();
  EXPECT_EQ(report.status, RunStatus::kDone) << report.error;
  EXPECT_EQ(report.reason.kind, EndReason::Kind::kStopRequested);
  EXPECT_EQ(report.steps, 6);
  EXPECT_EQ(report.global_step, 6);
  EXPECT_GE(progress, 6);
  EXPECT_EQ(report.checkpoint, temp / "run/model.ckpt-6");
  ASSERT_EQ(report.evaluations.size(), 1u);
  EXPECT_EQ(report.evaluations[0].input, "eval");
  EXPECT_EQ(report.evaluations[0].examples, 32);
  EXPECT_EQ(report.evaluations[0].metrics.at(0).first, "loss");
  EXPECT_THAT(error_of([&] { run.run(); }), HasSubstr("FAILED_PRECONDITION"));

  const RunReport longer = ManifestRun(file, with({"run.max_steps=8"})).run();
  EXPECT_EQ(longer.steps, 2);
  EXPECT_EQ(longer.global_step, 8);

  const RunReport evaluated = ManifestRun(file, with({"run.mode=evaluate"})).run();
  EXPECT_EQ(evaluated.status, RunStatus::kDone) << evaluated.error;
  EXPECT_EQ(evaluated.global_step, 8);
  EXPECT_EQ(evaluated.evaluations.size(), 1u);

  const RunReport predicted =
      ManifestRun(file, with({"run.mode=predict", "predict.output=" + (temp / "out.csv")})).run();
  EXPECT_EQ(predicted.status, RunStatus::kDone) << predicted.error;
  EXPECT_EQ(predicted.predicted_examples, 32);
  EXPECT_TRUE(std::filesystem::exists(temp / "out.csv"));
}

TEST_F(ManifestRunTest, T_114_AnInputThatEndsBeforeTheFirstStepIsNoTraining) {
  const std::vector<std::string> sets = {"input.train.epochs=1", "input.train.batch_size=32", "optimizer.accumulate=4"};
  const RunReport report = ManifestRun(file, with(sets)).run();
  EXPECT_EQ(report.status, RunStatus::kUsage);
  EXPECT_EQ(report.steps, 0);
  EXPECT_THAT(report.error, HasSubstr("nothing was trained, the run made no step: the input ended: "));
  EXPECT_THAT(report.error, HasSubstr("lower [optimizer] accumulate"));
  EXPECT_THAT(log, HasSubstr("nothing was trained"));
  EXPECT_TRUE(report.evaluations.empty());
}

TEST_F(ManifestRunTest, SampledTextIsInTheReportAndInTheFileThatIsNamed) {
  std::string play;
  for (int i = 0; i < 60; ++i) play += "to be or not to be\n";
  std::ofstream(temp / "play.txt") << play;
  write(R"([run]
dir = "run"
max_steps = 2
[input.train]
plugin = "text"
files = ["play.txt"]
sequence_length = 8
[input.predict]
plugin = "text"
files = ["play.txt"]
sequence_length = 8
epochs = 1
[model]
plugin = "lstm"
embedding = 4
hidden = 4
[optimizer]
name = "sgd"
)");
  ASSERT_EQ(ManifestRun(file, with()).run().status, RunStatus::kDone);
  std::vector<std::string> sets = {"run.mode=predict", "predict.prompt=to ", "predict.length=20"};
  const RunReport sampled = ManifestRun(file, with(sets)).run();
  ASSERT_EQ(sampled.status, RunStatus::kDone) << sampled.error;
  EXPECT_EQ(sampled.sampled.size(), 3u + 20u);
  sets.push_back("predict.output=" + (temp / "said.txt"));
  const RunReport written = ManifestRun(file, with(sets)).run();
  ASSERT_EQ(written.status, RunStatus::kDone) << written.error;
  EXPECT_EQ(written.sampled, sampled.sampled);
  std::ifstream said(temp / "said.txt");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(said), {}), sampled.sampled + "\n");

  sets[1] = "predict.prompt=TO ";  // it has no such characters
  std::filesystem::remove(temp / "said.txt");
  EXPECT_EQ(ManifestRun(file, with(sets)).run().status, RunStatus::kUsage);
  EXPECT_FALSE(std::filesystem::exists(temp / "said.txt"));
}

TEST_F(ManifestRunTest, ExportsBehindATrainingAndInItsOwnMode) {
  std::ifstream given(file);
  const std::string manifest(std::istreambuf_iterator<char>(given), {});
  write(manifest + "[[exporters]]\nplugin = \"safetensors\"\n[[exporters]]\nplugin = \"onnx\"\nwhen = \"latest\"\n");
  const RunReport trained = ManifestRun(file, with()).run();
  EXPECT_EQ(trained.status, RunStatus::kDone) << trained.error;
  ASSERT_EQ(trained.exports.size(), 1u);  // of the final one
  EXPECT_TRUE(std::filesystem::exists(trained.exports[0] + "/model.safetensors"));

  const RunReport exported = ManifestRun(file, with({"run.mode=export"})).run();
  EXPECT_EQ(exported.status, RunStatus::kDone) << exported.error;
  EXPECT_EQ(exported.checkpoint, temp / "run/model.ckpt-6");
  EXPECT_EQ(exported.global_step, 6);
  ASSERT_EQ(exported.exports.size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(exported.exports[0] + "/model.safetensors"));
  EXPECT_TRUE(std::filesystem::exists(exported.exports[1] + "/model.onnx"));

  const RunReport none = ManifestRun(file, with({"run.mode=export", "run.checkpoint=\"99\""})).run();
  EXPECT_EQ(none.status, RunStatus::kUsage);
  EXPECT_THAT(none.error, HasSubstr("model.ckpt-99"));
  EXPECT_TRUE(none.exports.empty());
}

TEST_F(ManifestRunTest, ProblemsHaveTheirPlacesAndNothingIsWritten) {
  ManifestRun run(file, with({"run.max_stps=3"}));
  EXPECT_FALSE(run.ok());
  ASSERT_EQ(run.problems().size(), 1u);
  EXPECT_THAT(run.problems()[0].file, HasSubstr("--set"));
  EXPECT_THAT(run.problems()[0].help, HasSubstr("max_steps"));
  EXPECT_THAT(run.problems_text(), HasSubstr("did you mean"));
  const RunReport report = run.run();
  EXPECT_EQ(report.status, RunStatus::kUsage);
  EXPECT_EQ(report.error, run.problems_text());

  ManifestRun none(temp / "none.toml", with());
  EXPECT_FALSE(none.ok());
  EXPECT_THAT(error_of([&] { none.effective_manifest(); }), HasSubstr("FAILED_PRECONDITION"));
  EXPECT_FALSE(std::filesystem::exists(temp / "run"));
}

TEST_F(ManifestRunTest, CheckLooksAtTheGraphAndWritesNothing) {
  ManifestRun run(file, with());
  EXPECT_TRUE(run.check()) << run.problems_text();
  EXPECT_THAT(run.effective_manifest(), HasSubstr("max_steps = 6"));
  EXPECT_FALSE(std::filesystem::exists(temp / "run"));
  EXPECT_EQ(run.run().status, RunStatus::kDone) << "a run that was checked can be run";

  ManifestRun wrong(file, with({"scaffold.init_op=nothing"}));
  EXPECT_TRUE(wrong.ok()) << "only the graph shows it";
  EXPECT_FALSE(wrong.check());
  EXPECT_THAT(wrong.problems_text(), HasSubstr("nothing"));
}

TEST_F(ManifestRunTest, TheStatusSaysWhatFailed) {
  EXPECT_EQ(ManifestRun(file, with({"model.plugin=no_such_model"})).run().status, RunStatus::kPlugin);
  EXPECT_EQ(ManifestRun(file, with({"optimizer.learning_rate=1e38", "run.max_steps=50"})).run().status,
            RunStatus::kDiverged);

  const RunReport done = ManifestRun(file, with({"run.dir=b"})).run();
  ASSERT_EQ(done.status, RunStatus::kDone) << done.error;
  std::ofstream(done.checkpoint + "/index", std::ios::app) << "x";
  EXPECT_EQ(ManifestRun(file, with({"run.mode=evaluate", "run.checkpoint=" + done.checkpoint})).run().status,
            RunStatus::kNoRestore);

  OwnedGraph graph(default_plugins());
  line(graph);
  MonitoredTrainingSession holder(graph, options("c"));
  EXPECT_EQ(ManifestRun(file, with({"run.dir=c"})).run().status, RunStatus::kInUse);
  holder.close();
}

TEST_F(ManifestRunTest, AChangedManifestIsAProblemUnlessItIsAccepted) {
  ASSERT_EQ(ManifestRun(file, with()).run().status, RunStatus::kDone);
  const std::vector<std::string> sets = {"run.max_steps=8", "optimizer.learning_rate=0.5"};
  const RunReport refused = ManifestRun(file, with(sets)).run();
  EXPECT_EQ(refused.status, RunStatus::kUsage);
  EXPECT_THAT(refused.error, HasSubstr("optimizer.learning_rate was 0.01, is 0.5"));
  ManifestRunOptions options = with(sets);
  options.accept_changes = true;
  EXPECT_EQ(ManifestRun(file, options).run().global_step, 8);
}

TEST_F(ManifestRunTest, MustResumeNeedsACheckpoint) {
  ManifestRunOptions options = with();
  options.must_resume = true;
  EXPECT_EQ(ManifestRun(file, options).run().status, RunStatus::kUsage);
  EXPECT_FALSE(std::filesystem::exists(temp / "run"));
}

TEST_F(ManifestRunTest, APlaceThatCannotBeIsAProblem) {
  ManifestRunOptions options = with();
  options.place = ProcessPlace{.rank = 1, .size = 2};
  EXPECT_THAT(ManifestRun(file, options).problems_text(),
              HasSubstr("the program is one of 2 processes that train together, and the manifest has no [cluster]"));
  options.sets = {"cluster.plugin=gloo"};
  EXPECT_TRUE(ManifestRun(file, options).ok());
  options.place = ProcessPlace{.rank = 2, .size = 2};
  EXPECT_THAT(ManifestRun(file, options).problems_text(), HasSubstr("the program starts this process as rank 2 of 2"));
}

// Two ranks are two threads of this process, each with a separate run.
TEST_F(ManifestRunTest, ThreadsOfAProgramAreRanksByTheClusterLocal) {
  const auto train = [&](const std::string& dir, int rank, int size) {
    ManifestRunOptions options = with({"run.dir=" + dir, "cluster.plugin=local", "cluster.max_wait_secs=60",
                                       "input.train.batch_size=" + std::to_string(16 / size)});
    options.log.write = [](std::string_view) {};
    options.place = ProcessPlace{.rank = rank, .size = size};
    return ManifestRun(file, options).run();
  };
  RunReport worker;
  std::thread other([&] { worker = train("two", 1, 2); });
  const RunReport chief = train("two", 0, 2);
  other.join();
  ASSERT_EQ(chief.status, RunStatus::kDone) << chief.error;
  EXPECT_EQ(worker.status, RunStatus::kDone) << worker.error;
  EXPECT_EQ(worker.global_step, 6);
  ASSERT_EQ(chief.evaluations.size(), 1U);
  const RunReport alone = train("one", 0, 1);
  ASSERT_EQ(alone.status, RunStatus::kDone) << alone.error;
  EXPECT_NEAR(chief.evaluations[0].metrics.at(0).second, alone.evaluations.at(0).metrics.at(0).second, 1e-5);
}

TEST_F(ManifestRunTest, StopsWhereItIsAskedAndSavesThere) {
  ManifestRunOptions options = with({"run.max_steps=1000000"});
  int steps = 0;
  options.on_progress = [&](ManifestRun& run) {
    if (++steps == 3) run.request_stop("three are enough");
  };
  const RunReport report = ManifestRun(file, options).run();
  EXPECT_EQ(report.status, RunStatus::kDone) << report.error;
  EXPECT_EQ(report.reason.text, "three are enough");
  EXPECT_EQ(report.global_step, 3);
  EXPECT_EQ(report.checkpoint, temp / "run/model.ckpt-3");
  EXPECT_TRUE(report.evaluations.empty()) << "somebody wants the end now";
}

TEST_F(ManifestRunTest, ARunThatIsStoppedBeforehandMakesNoStep) {
  ManifestRun run(file, with());
  run.stop_now("changed my mind");
  const RunReport report = run.run();
  EXPECT_EQ(report.status, RunStatus::kDone) << report.error;
  EXPECT_EQ(report.steps, 0);
  EXPECT_EQ(report.reason.text, "changed my mind");
}

}  // namespace
}  // namespace belay
