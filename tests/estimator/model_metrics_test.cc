// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/model_metrics.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "belay/ops/math.h"
#include "belay/ops/metrics.h"
#include "belay/plugin.h"
#include "runtime/data/input_feed.h"
#include "runtime/loader/library/registry.h"
#include "runtime/monitored/layers/monitored_session.h"
#include "tests/manifest/parsed.h"
#include "tests/monitored/monitored_fixture.h"

namespace {

namespace ops = belay::ops;
using belay::DType;
using belay::Output;

// Five examples in batches of two: what a model thinks of three classes, a weight, and the class.
class Opinions final : public belay::Input {
 public:
  static constexpr auto about = belay::about("opinions", "Five examples of three classes");

  void spec(belay::InputSpec& spec) override {
    x_ = spec.feature("x", DType::kFloat32, {-1, 3});
    weight_ = spec.feature("weight", DType::kFloat32, {-1});
    class_ = spec.label("class", DType::kInt64, {-1});
  }
  void open(const belay::OpenArgs&) override {}
  bool next(belay::Batch& batch, belay::Position& position) override {
    const std::int64_t n = std::min<std::int64_t>(2, 5 - at_);
    if (n == 0) return false;
    std::copy_n(kX + 3 * at_, 3 * n, batch.tensor(x_, {n, 3}).data<float>());
    std::copy_n(kWeights + at_, n, batch.tensor(weight_, {n}).data<float>());
    std::copy_n(kClasses + at_, n, batch.tensor(class_, {n}).data<std::int64_t>());
    at_ += n;
    position = {0, at_};
    return true;
  }
  void seek(const belay::Position& position) override { at_ = position.index; }

 private:
  static constexpr float kX[] = {0.7f, 0.2f, 0.1f, 0.1f, 0.6f, 0.3f, 0.5f, 0.3f,
                                 0.2f, 0.2f, 0.5f, 0.3f, 0.1f, 0.5f, 0.4f};
  static constexpr float kWeights[] = {1, 1, 2, 1, 1};
  static constexpr std::int64_t kClasses[] = {0, 1, 2, 1, 2};
  std::uint32_t x_ = 0, weight_ = 0, class_ = 0;
  std::int64_t at_ = 0;
};

// Agrees with its input. Its prediction "class" has the name of the label.
class Agrees final : public belay::Model {
 public:
  static constexpr auto about = belay::about("agrees", "Has no opinion but its input's");

  void build(belay::ModelContext& model) override {
    const belay::Graph& g = model.graph();
    const Output x = model.feature("x"), chosen = ops::arg_max(x, -1, "chosen");
    model.loss(ops::reduce_mean(x));
    model.prediction("probabilities", x);
    model.prediction("class", chosen);
    model.prediction("value", ops::slice(x, {0, 0}, {-1, 1}));
    const ops::Metric table = ops::metrics::confusion_matrix(model.label(), chosen, 3, Output(), "own");
    model.metric("table", table.value, table.update);
    ops::reduce_mean(ops::slice(x, {0, 0}, {-1, 1}), {}, false, "mean_of_batch");
    ops::no_op(g, "nothing");
  }
};

// The values of the metric of the model "shaped".
struct MetricShape {
  const char* title;
  DType dtype;
  belay::Dims dims;
  bool with_update;
  const char* error;  // of build; "": none
};
const MetricShape* shape_to_build = nullptr;

class Shaped final : public belay::Model {
 public:
  static constexpr auto about = belay::about("shaped", "A metric of any shape");

  void build(belay::ModelContext& model) override {
    const Output value = ops::zeros(model.graph(), shape_to_build->dims, shape_to_build->dtype);
    model.metric("m", value, shape_to_build->with_update ? ops::no_op(model.graph()) : Output());
    model.loss(ops::reduce_mean(model.feature("x")));
  }
};

}  // namespace

BELAY_MODULE("1.0.0", Opinions, Agrees, Shaped)

namespace belay::runtime::testing {
namespace {

using Numbers = std::vector<double>;

class ModelMetrics : public MonitoredTest {
 protected:
  ModelMetrics() {
    registry.add_linked(&belay_module_v0);
    input = InputFeed::open(create(PluginKind::kInput, "opinions", input_monitor), {.name = "eval"});
  }
  PluginInstance& create(PluginKind kind, const std::string& name, CallMonitor& of) {
    const RegisteredPlugin* plugin = registry.find(kind, name, "");
    ResolvedPlugin resolved;
    resolved.info = plugin->info;
    resolved.instance_name = name;
    return instances.create(*plugin, resolved, services, of);
  }
  // The model's graph with the metrics of this part of a manifest.
  void build(const std::string& metrics) {
    const Parsed manifest = parsed(metrics + kRest);
    EXPECT_EQ(manifest.errors, "");
    const InputFeed::Tensors tensors = input->add_to_graph(graph);
    outputs = build_model(create(PluginKind::kModel, "agrees", monitor), graph, Mode::kEval, tensors.features,
                          tensors.labels);
    add_metrics(graph, manifest.manifest->metrics, outputs);
  }
  std::string error_with(const std::string& metrics) {
    return error_of([&] { build(metrics); });
  }
  // The metrics' values, each by its role, after all batches.
  std::map<std::string, Numbers> evaluate(const std::string& metrics) {
    build(metrics);
    std::vector<FetchRef> updates;
    for (const ModelOutputs::Metric& m : outputs.metrics) updates.push_back(m.update);
    FetchSet set(updates);
    HookSet no_hooks;
    SingularMonitoredSession session(graph, environment, no_hooks);
    std::map<std::string, Numbers> values;
    session.scope([&] {
      RunCall call;
      call.fetches = &set;
      try {
        while (!session.should_stop()) session.run(call);
      } catch (const Error& e) {
        if (!is_end_of_input(e.code())) throw;
      }
      const auto raw = session.raw_session();
      for (const ModelOutputs::Metric& m : outputs.metrics) {
        const RunResult result = raw->handle().run({raw->handle().graph().find(m.name)});
        const TensorView t = result[0];
        EXPECT_EQ(t.dtype(), DType::kFloat64);
        for (std::size_t i = 0; i < t.size(); ++i) values[m.name].push_back(t.number(i));
      }
    });
    return values;
  }

  CallMonitor input_monitor;
  std::shared_ptr<InputFeed> input;
  ModelOutputs outputs;
};

const std::string kCompared = "labels = 'class'\npredictions = 'class'\n";
const std::string kScored = "labels = 'class'\npredictions = 'probabilities'\n";

// The label "class" was not taken for the prediction: that would be right everywhere.
TEST_F(ModelMetrics, AreMadeFromRolesFeaturesLabelsAndNodes) {
  const auto values = evaluate(
      "[[metrics]]\nkind = 'accuracy'\n" + kCompared + "[[metrics]]\nkind = 'accuracy'\nname = 'weighted'\n" +
      kCompared + "weights = 'weight'\n[[metrics]]\nkind = 'accuracy'\nname = 'by_node'\nlabels = 'input/class'\n" +
      "predictions = 'chosen:0'\n[[metrics]]\nkind = 'mean'\nvalues = 'weight'\n[[metrics]]\nkind = 'perplexity'\n"
      "values = 'weight'\nweights = 'weight'\n");
  EXPECT_EQ(values.at("accuracy"), Numbers{0.6});
  EXPECT_EQ(values.at("weighted"), Numbers{0.5});
  EXPECT_EQ(values.at("by_node"), Numbers{0.6});
  EXPECT_EQ(values.at("mean"), Numbers{1.2});
  EXPECT_NEAR(values.at("perplexity")[0], std::exp(8.0 / 6), 1e-12);
}

// The batches are of 2, 2 and 1 examples, whose values are 0.7, 0.1, 0.5, 0.2 and 0.1.
TEST_F(ModelMetrics, T_113_AMeanOfABatchCountsByItsExamples) {
  const auto values = evaluate(
      "[[metrics]]\nkind = 'mean'\nvalues = 'mean_of_batch'\n[[metrics]]\nkind = 'perplexity'\nvalues = "
      "'mean_of_batch'\n[[metrics]]\nkind = 'mean'\nname = 'of_each'\nvalues = 'value'\n");
  EXPECT_NEAR(values.at("mean")[0], 1.6 / 5, 1e-7);
  EXPECT_NEAR(values.at("perplexity")[0], std::exp(1.6 / 5), 1e-7);
  EXPECT_NEAR(values.at("of_each")[0], 1.6 / 5, 1e-7);
}

TEST_F(ModelMetrics, T_113_TheMeanOfAMetricOfAllBatchesIsThatMetric) {
  const auto values =
      evaluate("[[metrics]]\nkind = 'accuracy'\n" + kCompared + "[[metrics]]\nkind = 'mean'\nvalues = 'accuracy'\n");
  EXPECT_EQ(values.at("mean"), Numbers{0.6});
  EXPECT_EQ(error_with("[[metrics]]\nkind = 'perplexity'\nvalues = 'table'\n"),
            "INVALID_ARGUMENT: train.toml:3:10: [B5038] 'table' is a metric already, which adds up over all batches; "
            "name what "
            "each example has, such as a prediction");
}

TEST_F(ModelMetrics, ComeAfterTheModelsOwnUnderTheirNames) {
  build("[[metrics]]\nkind = 'recall'\nname = 'found'\n" + kCompared + "[[metrics]]\nkind = 'mean'\nvalues = 'loss'\n");
  ASSERT_EQ(outputs.metrics.size(), 3u);
  EXPECT_EQ(outputs.metrics[0].name, "table");
  EXPECT_EQ(outputs.metrics[1].name, "found");
  EXPECT_EQ(outputs.metrics[2].name, "mean");
  EXPECT_EQ(g.find("found"), outputs.metrics[1].value);
  EXPECT_EQ(outputs.metrics[1].value.name(), "metrics/found/value:0");
  EXPECT_EQ(outputs.metrics[2].update.name(), "metrics/mean/update:0");
}

TEST_F(ModelMetrics, AMatrixStaysOne) {
  const auto values = evaluate("[[metrics]]\nkind = 'confusion_matrix'\n" + kCompared + "classes = 3\n");
  const Numbers expected{1, 0, 0, 0, 2, 0, 1, 1, 0};
  EXPECT_EQ(values.at("confusion_matrix"), expected);
  EXPECT_EQ(values.at("table"), expected) << "the model's own";
}

TEST_F(ModelMetrics, AClassAgainstTheOthers) {
  const std::string of_class = "class_id = 1\n";
  std::string text;
  for (const char* kind :
       {"precision", "recall", "true_positives", "true_negatives", "false_positives", "false_negatives"})
    text += "[[metrics]]\nkind = '" + std::string(kind) + "'\n" + kCompared + of_class;
  text += "[[metrics]]\nkind = 'auc'\n" + kScored + of_class;
  text += "[[metrics]]\nkind = 'auc'\nname = 'pr'\ncurve = 'pr'\n" + kScored + of_class;
  text += "[[metrics]]\nkind = 'auc'\nname = 'coarse'\nnum_thresholds = 2\n" + kScored + of_class;
  const auto values = evaluate(text);
  EXPECT_EQ(values.at("precision"), Numbers{2.0 / 3});
  EXPECT_EQ(values.at("recall"), Numbers{1});
  EXPECT_EQ(values.at("true_positives"), Numbers{2});
  EXPECT_EQ(values.at("true_negatives"), Numbers{2});
  EXPECT_EQ(values.at("false_positives"), Numbers{1});
  EXPECT_EQ(values.at("false_negatives"), Numbers{0});
  // Of 2 * 3 pairs one is a tie.
  EXPECT_NEAR(values.at("auc")[0], 5.5 / 6, 1e-12);
  // (predicted, true): (0, 0), (1, 1), (3, 2), ...
  EXPECT_NEAR(values.at("pr")[0], (1.5 + 0.25 * std::log(3.0)) / 2, 1e-12);
  EXPECT_EQ(values.at("coarse"), Numbers{0.5});
}

TEST_F(ModelMetrics, OfNumbersAndOfRanks) {
  std::string text = "[[metrics]]\nkind = 'in_top_k'\nk = 2\n" + kScored;
  for (const char* kind : {"mean_squared_error", "root_mean_squared_error", "mean_absolute_error"})
    text += "[[metrics]]\nkind = '" + std::string(kind) + "'\nlabels = 'weight'\npredictions = 'value'\n";
  const auto values = evaluate(text);
  EXPECT_EQ(values.at("in_top_k"), Numbers{0.8});
  EXPECT_NEAR(values.at("mean_absolute_error")[0], 4.4 / 5, 1e-6);
  EXPECT_NEAR(values.at("mean_squared_error")[0], 4.6 / 5, 1e-6);
  EXPECT_NEAR(values.at("root_mean_squared_error")[0], std::sqrt(4.6 / 5), 1e-6);
}

TEST_F(ModelMetrics, AnUnknownNameIsReportedWithItsPlace) {
  EXPECT_EQ(error_with("[[metrics]]\nkind = 'in_top_k'\nlabels = 'class'\npredictions = 'probabilites'\n"),
            "NOT_FOUND: train.toml:4:15: [B5038] the graph has no 'probabilites'; did you mean 'probabilities'?");
}

TEST_F(ModelMetrics, WhereNoNameIsNearAllAreListed) {
  EXPECT_EQ(
      error_with("[[metrics]]\nkind = 'mean'\nvalues = 'frobnicate'\n"),
      "NOT_FOUND: train.toml:3:10: [B5038] the graph has no 'frobnicate'; the model and the input have class, loss, "
      "probabilities, table, value, x, weight, and `belay graph` lists the nodes");
}

TEST_F(ModelMetrics, AnOutputThatANodeHasNotIsReportedWithItsPlace) {
  EXPECT_EQ(error_with("[[metrics]]\nkind = 'mean'\nvalues = 'chosen:1'\n"),
            "NOT_FOUND: train.toml:3:10: node 'chosen' has 1 outputs, there is no 'chosen:1'");
}

TEST_F(ModelMetrics, AnOperationIsNoTensor) {
  EXPECT_EQ(error_with("[[metrics]]\nkind = 'mean'\nvalues = 'nothing'\n"),
            "INVALID_ARGUMENT: train.toml:3:10: [B5038] 'nothing' is an operation; a metric is made from tensors");
}

TEST_F(ModelMetrics, ANameOfTheModelsIsRefused) {
  EXPECT_EQ(
      error_with("[[metrics]]\nkind = 'mean'\nname = 'table'\nvalues = 'x'\n"),
      "INVALID_ARGUMENT: train.toml:3:8: [B5039] the model has its own 'table'; name the metric otherwise: name = "
      "\"my_table\"");
}

TEST_F(ModelMetrics, TensorsThatDoNotFitAreReportedWithTheTablesPlace) {
  EXPECT_EQ(error_with("[[metrics]]\nkind = 'accuracy'\n" + kScored),
            "INVALID_ARGUMENT: train.toml:1:1: metric 'accuracy': accuracy: the labels 'input/class:0' (int64 [?]) and "
            "the predictions 'input/x:0' (float32 [?, 3]) must have one shape");
}

class MetricShapes : public ModelMetrics, public ::testing::WithParamInterface<MetricShape> {};

TEST_P(MetricShapes, OfAModelAreScalarsAndWithAnUpdateMatrices) {
  shape_to_build = &GetParam();
  const InputFeed::Tensors tensors = input->add_to_graph(graph);
  PluginInstance& model = create(PluginKind::kModel, "shaped", monitor);
  const std::string expected = GetParam().error;
  EXPECT_EQ(
      error_of([&] { build_model(model, graph, Mode::kEval, tensors.features, tensors.labels); }),
      expected.empty() ? "no error" : "INVALID_ARGUMENT: model \"shaped\" (linked in, 1.0.0) in build: " + expected);
}

INSTANTIATE_TEST_SUITE_P(
    All, MetricShapes,
    ::testing::Values(
        MetricShape{"Scalar", DType::kFloat32, {}, false, ""},
        MetricShape{"ScalarWithUpdate", DType::kFloat32, {}, true, ""},
        MetricShape{"Square", DType::kFloat64, {3, 3}, true, ""},
        MetricShape{"SquareWithoutUpdate",
                    DType::kFloat64,
                    {3, 3},
                    false,
                    "[B5084] the metric 'm' 'zeros:0' (float64 [3, 3]) must be a scalar"},
        MetricShape{"SquareOfFloat32",
                    DType::kFloat32,
                    {3, 3},
                    true,
                    "[B5084] the metric 'm' 'zeros:0' (float32 [3, 3]) must be a scalar, or float64 [n, n]"},
        MetricShape{"Wide",
                    DType::kFloat64,
                    {2, 3},
                    true,
                    "[B5084] the metric 'm' 'zeros:0' (float64 [2, 3]) must be a scalar, or float64 [n, n]"},
        MetricShape{"Vector",
                    DType::kFloat64,
                    {3},
                    true,
                    "[B5084] the metric 'm' 'zeros:0' (float64 [3]) must be a scalar, or float64 [n, n]"}),
    [](const auto& c) { return c.param.title; });

}  // namespace
}  // namespace belay::runtime::testing
