// SPDX-License-Identifier: Apache-2.0
// The exporter plugins in a program: section 11 of the catalogue of checkpoints, Estimator and input, through the
// headers that programs have.
#include "belay/runtime/model_exporter.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "belay/runtime/experiment.h"
#include "runtime/estimator/resume/export_folder.h"
#include "tests/conformance/program_estimator.h"

namespace belay {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ModelExportersTest : public ProgramEstimatorTest {
 protected:
  // The variable is the step / 10; the loss (2 - that)^2, so 1, 0, 1 and 4 after 10, 20, 30 and 40 steps.
  static EstimatorSpec valley(const ModelArgs& m) {
    const Output at = ops::variable(m.graph, "at", Tensor(0.0f));
    EstimatorPieces p;
    p.predictions = {{"", m.feature() + at}};
    p.loss = ops::square(at - 2.0);
    p.eval_metric_ops = {{"depth", ops::metrics::mean(ops::square(at - 2.0) * -1.0)}};
    const Output step =
        ops::assign_add(m.graph.global_step_if_exists(), ops::constant(m.graph, Tensor(std::int64_t{1})));
    p.train_op =
        ops::group(m.graph, {step.operation(), ops::assign_add(at, ops::constant(m.graph, Tensor(0.1f)))}, "train");
    return {m, p};
  }
  std::unique_ptr<Estimator> of(ModelFn model) {
    return std::make_unique<Estimator>(std::make_unique<Insides>(model, options({.save_checkpoints_steps = 10})));
  }
  TrainAndEvaluateResult run(std::int64_t max_steps, const ModelExporters& exporters) {
    EvalSpecOptions o = at_once();
    o.exporters = exporters;
    return train_and_evaluate(*of(valley), TrainSpec(ones, {.max_steps = max_steps}), EvalSpec(ones, o));
  }
  static std::string text_of(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // Returns the versions of an exporter, the oldest first.
  std::vector<runtime::ExportRecord> records(const std::string& name = "safetensors") {
    std::vector<std::string> versions;
    const std::string folder = temp / "model/export/" + name;
    if (fs::exists(folder))
      for (const auto& entry : fs::directory_iterator(folder))
        if (entry.is_directory()) versions.push_back(entry.path());
    std::sort(versions.begin(), versions.end());
    std::vector<runtime::ExportRecord> all;
    for (const std::string& version : versions)
      all.push_back(runtime::parse_export_record(text_of(version + "/export.json")));
    return all;
  }
  std::vector<std::int64_t> steps(const std::string& name = "safetensors") {
    std::vector<std::int64_t> all;
    for (const runtime::ExportRecord& r : records(name)) all.push_back(r.global_step);
    return all;
  }
};

TEST_F(ModelExportersTest, EXPO_01_AProgramsExporterKeepsAtLeastOne) {
  EXPECT_EQ(
      error_of([] { plugin_exporter("onnx", {.keep = 0}); }),
      "INVALID_ARGUMENT: [B5052] exporter \"onnx\": keep is 0, must be at least 1: the newest export always stays");
}

TEST_F(ModelExportersTest, EXPO_02_AProgramsBestExporterWritesWhatIsStrictlyBetter) {
  const TrainAndEvaluateResult result = run(40, {plugin_exporter("safetensors", {.when = ExportWhen::kBest})});
  EXPECT_THAT(steps(), ElementsAre(10, 20));
  EXPECT_EQ(records().back().metric, "loss");
  EXPECT_NEAR(records().back().value.value(), 0, 1e-6);
  EXPECT_THAT(result.exported, ElementsAre(""));  // nothing after the last evaluation
}

TEST_F(ModelExportersTest, EXPO_02_TheMetricAndItsDirectionAreTheProgramsToChoose) {
  const ExportSettings best{.when = ExportWhen::kBest};
  run(40, {plugin_exporter("safetensors", best, {.name = "high", .best_metric = "depth", .better = Better::kLarger}),
           plugin_exporter("safetensors", best, {.name = "low", .best_metric = "depth", .better = Better::kSmaller})});
  EXPECT_THAT(steps("high"), ElementsAre(10, 20));
  EXPECT_THAT(steps("low"), ElementsAre(10, 40));
  EXPECT_THAT(error_of([&] { plugin_exporter("onnx", best, {.best_metric = "depth"}); }),
              HasSubstr("'depth' does not show by its name which values are better"));
  EXPECT_THAT(
      error_of([&] { run(60, {plugin_exporter("onnx", best, {.best_metric = "dept", .better = Better::kLarger})}); }),
      HasSubstr("the evaluation has no such metric (did you mean \"depth\"?)"));
}

TEST_F(ModelExportersTest, EXPO_03_AProgramThatGoesOnExportsNothingWorseThanBefore) {
  run(20, {plugin_exporter("safetensors", {.when = ExportWhen::kBest})});
  run(40, {plugin_exporter("safetensors", {.when = ExportWhen::kBest})});
  EXPECT_THAT(steps(), ElementsAre(10, 20));
}

TEST_F(ModelExportersTest, EXPO_05_TheLatestIsWrittenBehindEachEvaluationTheFinalAtTheEnd) {
  const TrainAndEvaluateResult result =
      run(25, {plugin_exporter("safetensors", {.when = ExportWhen::kLatest}, {.name = "latest"}),
               plugin_exporter("safetensors")});
  EXPECT_THAT(steps("latest"), ElementsAre(10, 20, 25));
  EXPECT_THAT(steps(), ElementsAre(25));
  ASSERT_EQ(result.exported.size(), 2u);
  for (const std::string& path : result.exported) EXPECT_TRUE(fs::exists(path + "/model.safetensors")) << path;
}

TEST_F(ModelExportersTest, EXPO_06_OlderVersionsOfAProgramsExporterAreCollected) {
  run(40, {plugin_exporter("safetensors", {.when = ExportWhen::kLatest, .keep = 2})});
  EXPECT_THAT(steps(), ElementsAre(30, 40));
}

TEST_F(ModelExportersTest, T_138_AVariableThatACheckpointLacksIsNamedWithBothPathsAndTheNearName) {
  const auto estimator = of([](const ModelArgs& m) {
    if (m.mode != Mode::kPredict) return valley(m);
    const Output renamed = ops::variable(m.graph, "att", Tensor(0.0f));
    return EstimatorSpec(m, {.predictions = {{"", m.feature() + renamed}}});
  });
  estimator->train(ones, {.steps = 1});
  EXPECT_EQ(error_of([&] { export_checkpoint(*estimator, *plugin_exporter("safetensors"), ones); }),
            "NOT_FOUND: [B5040] cannot export to '" + (temp / "model/export/safetensors") +
                "': [B5040] the checkpoint '" + (temp / "model/model.ckpt-1") +
                "' has no variable 'att' (did you mean \"at\"?), which the model predicts with");
  EXPECT_THAT(steps(), IsEmpty());
}

TEST_F(ModelExportersTest, TheInputsAreTheFeaturesOfTheEvaluation) {
  const InputFn rows = tensor_input({{"x", Tensor({3, 1}, {1.f, 2.f, 3.f})}}, {}, {.batch_size = 2});
  const auto estimator = of(valley);
  estimator->train(ones, {.steps = 1});
  const std::string path = export_checkpoint(*estimator, *plugin_exporter("safetensors"), rows);
  const std::string signature = text_of(path + "/signature.json");
  EXPECT_THAT(signature, HasSubstr(R"("tensor": "serving/x:0")"));
  EXPECT_THAT(signature, HasSubstr("\"name\": \"output\""));  // a prediction without a name
  EXPECT_THAT(signature, ::testing::ContainsRegex("-1,[ \n]*1"));
}

TEST_F(ModelExportersTest, PlaceholdersOfAnInputOfItsOwnAreTheInputsAsTheyAre) {
  const InputFn serving = [](const InputArgs& in) -> InputResult {
    return {.features = {{"asked", ops::placeholder(in.graph, DType::kFloat32, {-1, 7}, "questions")}}};
  };
  run(10, {plugin_exporter("safetensors", {}, {.input = serving})});
  const std::string folder = temp / "model/export/safetensors";
  const std::string version = fs::directory_iterator(folder)->path().filename() == "lock"
                                  ? std::next(fs::directory_iterator(folder))->path()
                                  : fs::directory_iterator(folder)->path();
  const std::string signature = text_of(version + "/signature.json");
  EXPECT_THAT(signature, HasSubstr(R"("name": "asked")"));
  EXPECT_THAT(signature, HasSubstr(R"("tensor": "questions:0")"));
}

TEST_F(ModelExportersTest, WhatIsWrongShowsBeforeAnythingIsTrained) {
  EXPECT_THAT(error_of([&] { run(10, {plugin_exporter("onxx")}); }), HasSubstr("onxx"));
  EXPECT_THAT(error_of([&] {
                run(10, {plugin_exporter("onnx", {}, {.options = {{"opset", 17}}})});
              }),
              HasSubstr("opset"));
  EXPECT_THAT(error_of([&] { run(10, {plugin_exporter("onnx", {.signature = "classify"})}); }),
              HasSubstr("[B5040] the model has no signature \"classify\""));
  EXPECT_FALSE(fs::exists(temp / "model"));
}

TEST_F(ModelExportersTest, ACheckpointIsExportedWhateverTheExportersWhen) {
  const auto estimator = of(valley);
  const auto best = plugin_exporter("safetensors", {.when = ExportWhen::kBest});
  EXPECT_THAT(error_of([&] { export_checkpoint(*estimator, *best, ones); }), HasSubstr("] there is no"));
  estimator->train(ones, {.max_steps = 20});
  EXPECT_TRUE(fs::exists(export_checkpoint(*estimator, *best, ones) + "/model.safetensors"));
  export_checkpoint(*estimator, *best, ones, temp / "model/model.ckpt-10");
  EXPECT_THAT(steps(), ElementsAre(20, 10));
  EXPECT_FALSE(records()[0].value.has_value());
}

TEST_F(ModelExportersTest, ACheckpointThatIsFinalAfterwardsIsNotExportedTwice) {
  const auto estimator = of(valley);
  const auto latest = plugin_exporter("safetensors", {.when = ExportWhen::kLatest});
  estimator->train(ones, {.max_steps = 10});
  const EvalMetrics metrics = estimator->evaluate(ones, {.steps = 1});
  const auto exported = [&](bool is_final) {
    return latest->export_model(
        {*estimator, ones, temp / "model/export/safetensors", temp / "model/model.ckpt-10", metrics, is_final});
  };
  EXPECT_EQ(exported(false), exported(true));
  EXPECT_THAT(steps(), ElementsAre(10));
}

TEST_F(ModelExportersTest, AnExperimentExportsBehindItsTraining) {
  const auto estimator = of(valley);
  Experiment experiment(*estimator, ones, ones,
                        {.train_steps = 10, .eval_steps = 1, .exporters = {plugin_exporter("safetensors")}});
  const TrainAndEvaluateResult result = experiment.train_and_evaluate();
  EXPECT_THAT(steps(), ElementsAre(10));
  EXPECT_THAT(experiment.test().exported, ElementsAre(::testing::Not(IsEmpty())));
  EXPECT_THAT(steps(), ElementsAre(10, 11));
}

}  // namespace
}  // namespace belay
