// SPDX-License-Identifier: Apache-2.0
// belay/ops/metrics.h: counts that add up over runs.
#include "belay/ops/metrics.h"

#include "tests/session/session_fixture.h"

namespace belay::runtime {
namespace {

namespace metrics = ops::metrics;
using testing::error_of;

class MetricsTest : public testing::SessionTest {
 protected:
  Output labels = ops::placeholder(g, DType::kFloat32, Dims{-1}, "labels");
  Output predictions = ops::placeholder(g, DType::kFloat32, Dims{-1}, "predictions");
  Output weights = ops::placeholder(g, DType::kFloat32, Dims{-1}, "weights");

  static Tensor vector(const std::vector<float>& v) { return Tensor({static_cast<std::int64_t>(v.size())}, v); }
  float update(const ops::Metric& m, const std::vector<float>& l, const std::vector<float>& p,
               const std::vector<float>& w = {}) {
    return session()
        .handle()
        .run({m.update}, {{labels, vector(l)}, {predictions, vector(p)}, {weights, vector(w)}})[0]
        .scalar<float>();
  }
};

TEST_F(MetricsTest, AMeanAddsUpOverRuns) {
  const ops::Metric m = metrics::mean(labels);
  open();
  initialize();
  EXPECT_EQ(value<float>(m.value), 0) << "before the first update";
  EXPECT_EQ(update(m, {1, 2, 3}, {}), 2);
  EXPECT_EQ(value<float>(m.value), 2);
  EXPECT_EQ(update(m, {10}, {}), 4) << "by elements, not by batches";
  EXPECT_EQ(update(m, {}, {}), 4);
  EXPECT_EQ(value<float>(m.value), 4);
  session().run_once(graph.collection("local_variable_init"));
  EXPECT_EQ(value<float>(m.value), 0);
}

TEST_F(MetricsTest, WeightsSayHowMuchAnElementCounts) {
  const ops::Metric m = metrics::mean(labels, weights);
  open();
  initialize();
  EXPECT_EQ(update(m, {1, 2, 4}, {}, {1, 0, 0.5f}), 2);
  EXPECT_EQ(update(m, {5}, {}, {0}), 2);
}

TEST_F(MetricsTest, CountsStayExactBeyondFloat32) {
  const ops::Metric m = metrics::mean(labels, weights);
  open();
  initialize();
  update(m, {0, 1}, {}, {16777216, 16777216});
  EXPECT_EQ(update(m, {1}, {}, {1}), static_cast<float>(16777217.0 / 33554433.0));
}

TEST_F(MetricsTest, CountsAreLocal) {
  metrics::accuracy(labels, predictions);
  EXPECT_EQ(g.collection_size(collections::kLocalVariables), 2u);
  EXPECT_EQ(g.collection_size(collections::kGlobalVariables), 0u);
}

struct MetricCase {
  const char* title;
  ops::Metric (*make)(const Output&, const Output&, const Output&, std::string_view);
  float first, second;  // after each of two batches
};

// Labels and predictions: true positives 2, false positives 1, true negatives 1, false negatives 1; then one of each.
const std::vector<float> kLabels1{1, 1, 0, 0, 1}, kPredictions1{1, 1, 1, 0, 0};
const std::vector<float> kLabels2{1, 0, 0, 1}, kPredictions2{1, 1, 0, 0};

class MetricCases : public MetricsTest, public ::testing::WithParamInterface<MetricCase> {};

TEST_P(MetricCases, AddUp) {
  const MetricCase& c = GetParam();
  const ops::Metric m = c.make(labels, predictions, Output(), {});
  open();
  initialize();
  EXPECT_EQ(value<float>(m.value), 0);
  EXPECT_FLOAT_EQ(update(m, kLabels1, kPredictions1), c.first);
  EXPECT_FLOAT_EQ(update(m, kLabels2, kPredictions2), c.second);
  EXPECT_FLOAT_EQ(value<float>(m.value), c.second);
}

INSTANTIATE_TEST_SUITE_P(
    All, MetricCases,
    ::testing::Values(MetricCase{"accuracy", metrics::accuracy, 3.0f / 5, 5.0f / 9},
                      MetricCase{"precision", metrics::precision, 2.0f / 3, 3.0f / 5},
                      MetricCase{"recall", metrics::recall, 2.0f / 3, 3.0f / 5},
                      MetricCase{"true_positives", metrics::true_positives, 2, 3},
                      MetricCase{"false_positives", metrics::false_positives, 1, 2},
                      MetricCase{"true_negatives", metrics::true_negatives, 1, 2},
                      MetricCase{"false_negatives", metrics::false_negatives, 1, 2},
                      MetricCase{"mean_squared_error", metrics::mean_squared_error, 2.0f / 5, 4.0f / 9},
                      MetricCase{"root_mean_squared_error", metrics::root_mean_squared_error, 0.63245553f, 2.0f / 3},
                      MetricCase{"mean_absolute_error", metrics::mean_absolute_error, 2.0f / 5, 4.0f / 9}),
    [](const auto& c) { return c.param.title; });

TEST_F(MetricsTest, AccuracyComparesClasses) {
  const Output classes = ops::cast(predictions, DType::kInt64);
  const ops::Metric m = metrics::accuracy(ops::cast(labels, DType::kInt32), classes, weights);
  open();
  initialize();
  EXPECT_EQ(update(m, {3, 1, 2, 7}, {3, 0, 2, 7}, {1, 1, 1, 5}), 7.0f / 8);
}

TEST_F(MetricsTest, PrecisionOfNothingPredictedIsZero) {
  const ops::Metric m = metrics::precision(labels, predictions);
  open();
  initialize();
  EXPECT_EQ(update(m, {1, 0}, {0, 0}), 0);
}

TEST_F(MetricsTest, AucOfASeparatingPredictionIsOne) {
  const ops::Metric m = metrics::auc(labels, predictions);
  open();
  initialize();
  EXPECT_NEAR(update(m, {0, 0, 1, 1}, {0.1f, 0.2f, 0.7f, 0.8f}), 1, 1e-5);
  EXPECT_NEAR(value<float>(m.value), 1, 1e-5);
}

// Pairs (negative, positive) in the right order: 5 of 6.
TEST_F(MetricsTest, AucIsTheFractionOfPairsInOrder) {
  const ops::Metric m = metrics::auc(labels, predictions, Output(), 1000);
  open();
  initialize();
  update(m, {0, 1}, {0.3f, 0.6f});
  EXPECT_NEAR(update(m, {1, 0, 0}, {0.4f, 0.5f, 0.1f}), 5.0 / 6, 1e-4);
}

TEST_F(MetricsTest, AucOfPrecisionAndRecall) {
  const ops::Metric m = metrics::auc(labels, predictions, Output(), 3, ops::metrics::Curve::kPrecisionRecall);
  open();
  initialize();
  // Thresholds 0-, 0.5, 1+: (recall, precision) = (1, 1/2), (1/2, 1/2), (0, 1).
  EXPECT_NEAR(update(m, {1, 1, 0, 0}, {0.9f, 0.2f, 0.6f, 0.1f}), 0.5 * 0.5 + 0.5 * 0.75, 1e-5);
}

TEST_F(MetricsTest, BadInputIsNamed) {
  EXPECT_EQ(error_of([&] { metrics::auc(labels, predictions, Output(), 1); }),
            "INVALID_ARGUMENT: auc: num_thresholds must be at least 2, got 1");
}

}  // namespace
}  // namespace belay::runtime
