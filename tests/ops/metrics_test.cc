// SPDX-License-Identifier: Apache-2.0
// belay/ops/metrics.h: counts that add up over runs, shapes, dtypes, errors. Values: metric_values_test.cc.
#include "belay/ops/metrics.h"

#include <cmath>

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
  double update(const ops::Metric& m, const std::vector<float>& l, const std::vector<float>& p,
                const std::vector<float>& w = {}) {
    return session()
        .handle()
        .run({m.update}, {{labels, vector(l)}, {predictions, vector(p)}, {weights, vector(w)}})[0]
        .scalar<double>();
  }
};

TEST_F(MetricsTest, AMeanAddsUpOverRuns) {
  const ops::Metric m = metrics::mean(labels);
  open();
  initialize();
  EXPECT_TRUE(std::isnan(value<double>(m.value))) << "before the first update";
  EXPECT_EQ(update(m, {1, 2, 3}, {}), 2);
  EXPECT_EQ(value<double>(m.value), 2);
  EXPECT_EQ(update(m, {10}, {}), 4) << "by elements, not by batches";
  EXPECT_EQ(update(m, {}, {}), 4);
  EXPECT_EQ(value<double>(m.value), 4);
  session().run_once(graph.collection("local_variable_init"));
  EXPECT_TRUE(std::isnan(value<double>(m.value)));
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
  EXPECT_EQ(update(m, {1}, {}, {1}), 16777217.0 / 33554433);
}

TEST_F(MetricsTest, CountsAreLocalMetricVariables) {
  metrics::accuracy(labels, predictions);
  EXPECT_EQ(g.collection_size(collections::kLocalVariables), 2u);
  EXPECT_EQ(g.collection_size(collections::kMetricVariables), 2u);
  EXPECT_EQ(g.collection_size(collections::kGlobalVariables), 0u);
}

TEST_F(MetricsTest, NodesAreUnderTheMetricsName) {
  const ops::Metric unnamed = metrics::accuracy(labels, predictions);
  const ops::Metric named = metrics::auc(labels, predictions, Output(), 3, metrics::Curve::kRoc, "area");
  EXPECT_EQ(unnamed.value.name(), "accuracy/value:0");
  EXPECT_EQ(unnamed.update.name(), "accuracy/update:0");
  EXPECT_EQ(named.value.name(), "area/value:0");
  EXPECT_NE(graph.find_node("area/true_positives"), nullptr);
}

TEST_F(MetricsTest, AccuracyComparesClasses) {
  const Output classes = ops::cast(predictions, DType::kInt64);
  const ops::Metric m = metrics::accuracy(ops::cast(labels, DType::kInt32), classes, weights);
  open();
  initialize();
  EXPECT_EQ(update(m, {3, 1, 2, 7}, {3, 0, 2, 7}, {1, 1, 1, 5}), 7.0 / 8);
}

TEST_F(MetricsTest, AccuracyOfAFractionIsNotCutToAClass) {
  const ops::Metric m = metrics::accuracy(ops::cast(labels, DType::kInt64), predictions);
  open();
  initialize();
  EXPECT_EQ(update(m, {2, 2, 0}, {2, 2.7f, std::nanf("")}), 1.0 / 3);
}

TEST_F(MetricsTest, TruthIsWhatIsNotZero) {
  const ops::Metric numbers = metrics::true_positives(labels, predictions);
  const ops::Metric bools =
      metrics::true_positives(ops::cast(labels, DType::kBool), ops::greater(predictions, ops::zeros_like(predictions)));
  open();
  initialize();
  EXPECT_EQ(update(numbers, {2, 1, -1, 0}, {0.5f, 0, std::nanf(""), 1}), 2);
  EXPECT_EQ(update(bools, {2, 1, -1, 0}, {0.5f, 0, 1, 1}), 2);
}

// A regression's values are [n, 1], its labels [n].
TEST_F(MetricsTest, ALastDimensionOfOneIsTakenAway) {
  const Output column = ops::reshape(predictions, {-1, 1}), label_column = ops::reshape(labels, {-1, 1});
  const ops::Metric a = metrics::mean_absolute_error(labels, column, ops::reshape(weights, {-1, 1}));
  const ops::Metric b = metrics::mean_absolute_error(label_column, predictions, weights);
  const ops::Metric top = metrics::in_top_k(ops::cast(label_column, DType::kInt64),
                                            ops::concat({column, ops::reshape(weights, {-1, 1})}, 1), 1);
  open();
  initialize();
  EXPECT_EQ(update(a, {1, 2}, {2, 5}, {1, 3}), 2.5);
  EXPECT_EQ(update(b, {1, 2}, {2, 5}, {1, 3}), 2.5);
  EXPECT_EQ(update(top, {1, 1}, {2, 5}, {1, 6}), 0.5);
}

// [2, 3] values: weights of both examples, of each element, of a row and of all.
TEST_F(MetricsTest, WeightsBelongToTheFirstDimensions) {
  const Output values = ops::reshape(labels, {-1, 3});
  const ops::Metric examples = metrics::mean(values, weights);
  const ops::Metric all = metrics::mean(values, ops::scalar(g, 3, DType::kInt32));
  const ops::Metric row = metrics::mean(values, ops::constant(g, Tensor({1, 3}, std::vector<float>{1, 0, 0})));
  const ops::Metric elements = metrics::mean(values, ops::cast(values, DType::kBool));
  open();
  initialize();
  const std::vector<float> six{1, 2, 0, 4, 5, 9};
  EXPECT_EQ(update(examples, six, {}, {1, 3}), (3.0 + 3 * 18) / 12);
  EXPECT_EQ(update(all, six, {}), 3.5);
  EXPECT_EQ(update(row, six, {}), 2.5);
  EXPECT_EQ(update(elements, six, {}), 21.0 / 5);
}

TEST_F(MetricsTest, InTopKTakesWordsOfSequences) {
  const Output probabilities = ops::reshape(predictions, {-1, 2, 3});  // [batch, time, classes]
  const ops::Metric m = metrics::in_top_k(ops::reshape(ops::cast(labels, DType::kInt32), {-1, 2}), probabilities, 1,
                                          ops::reshape(weights, {-1, 2}));
  open();
  initialize();
  EXPECT_EQ(update(m, {0, 2}, {0.5f, 0.3f, 0.2f, 0.5f, 0.3f, 0.2f}, {3, 1}), 0.75);
}

// Shapes that the placeholders leave open are found when the numbers come.
TEST_F(MetricsTest, LengthsThatDifferAreAnErrorOfTheRun) {
  const ops::Metric m = metrics::accuracy(labels, predictions);
  const ops::Metric weighted = metrics::mean(labels, weights);
  open();
  initialize();
  EXPECT_NE(error_of([&] { update(m, {1}, {1, 1, 1}); }), "no error");
  EXPECT_NE(error_of([&] { update(weighted, {1, 1}, {}, {1, 1, 1}); }), "no error");
  EXPECT_TRUE(std::isnan(value<double>(m.value)));
}

// A NaN with a sign would be "-nan" in a log.
TEST_F(MetricsTest, AnUndefinedValueIsANanWithoutASign) {
  const ops::Metric all[] = {metrics::mean(labels), metrics::r2(labels, predictions), metrics::auc(labels, predictions),
                             metrics::precision(labels, predictions), metrics::recall(labels, predictions)};
  open();
  initialize();
  for (const ops::Metric& m : all) {
    EXPECT_TRUE(std::isnan(value<double>(m.value))) << m.value.name();
    EXPECT_FALSE(std::signbit(value<double>(m.value))) << m.value.name();
  }
}

TEST_F(MetricsTest, R2OfEqualLabelsIsUndefined) {
  const ops::Metric m = metrics::r2(labels, predictions);
  open();
  initialize();
  EXPECT_TRUE(std::isnan(update(m, {0.1f, 0.1f, 0.1f}, {0.1f, 0.2f, 0.3f})));
  EXPECT_NEAR(update(m, {0.2f}, {0.2f}), 1 - (0.01 + 0.04) / 0.0075, 1e-5);
}

// Classes 0 and 1 are labels, and class 2 is only predicted: F1 of 2 / 3, 0 and 0, and recalls of 1 / 2 and 0.
TEST_F(MetricsTest, AClassWithoutALabelIsInNoBalancedAccuracyAndItsOwnF1IsUndefined) {
  const Output l = ops::cast(labels, DType::kInt64), p = ops::cast(predictions, DType::kInt64);
  const ops::Metric matrix = metrics::confusion_matrix(l, p, 4, weights);
  const ops::Metric macro = metrics::f1_of_classes(matrix), own = metrics::f1_of_classes(matrix, 2),
                    nowhere = metrics::f1_of_classes(matrix, 3), recall = metrics::recall_of_classes(matrix);
  const auto of = [&](const ops::Metric& m, const std::vector<float>& w) {
    session().run_once(graph.collection("local_variable_init"));
    return update(m, {0, 0, 1}, {0, 2, 2}, w);
  };
  open();
  initialize();
  EXPECT_NEAR(of(macro, {1, 1, 1}), 2.0 / 9, 1e-12);
  EXPECT_NEAR(of(recall, {1, 1, 1}), 0.25, 1e-12);
  EXPECT_TRUE(std::isnan(of(own, {1, 1, 1})));
  EXPECT_TRUE(std::isnan(of(nowhere, {1, 1, 1})));
  EXPECT_TRUE(std::isnan(of(macro, {0, 0, 0})));
  EXPECT_TRUE(std::isnan(of(recall, {0, 0, 0})));
}

TEST_F(MetricsTest, TheBestF1OfNoTrueElementIsUndefinedAndSoIsItsThreshold) {
  const metrics::BestF1 best = metrics::best_f1(labels, predictions);
  open();
  initialize();
  EXPECT_TRUE(std::isnan(update(best.f1, {0, 0}, {0.2f, 0.7f})));
  EXPECT_TRUE(std::isnan(value<double>(best.threshold.value)));
  EXPECT_NEAR(update(best.f1, {1}, {0.9f}), 1, 1e-12);
}

// All probabilities are below the second of the even thresholds. Three of the four pairs are in order.
TEST_F(MetricsTest, ThresholdsThatAreEvenInTheLogitTellSmallProbabilitiesApart) {
  const auto auc = [&](metrics::Thresholds thresholds) {
    return metrics::auc(labels, predictions, Output(), 501, metrics::Curve::kRoc, "", thresholds);
  };
  const ops::Metric even = auc(metrics::Thresholds::kEven), logits = auc(metrics::Thresholds::kEvenLogits);
  const metrics::BestF1 best =
      metrics::best_f1(labels, predictions, Output(), 501, "", metrics::Thresholds::kEvenLogits);
  open();
  initialize();
  const std::vector<float> truth{0, 1, 0, 1}, rare{0.0003f, 0.0006f, 0.0009f, 0.0015f};
  EXPECT_NEAR(update(even, truth, rare), 0.5, 1e-12);
  EXPECT_NEAR(update(logits, truth, rare), 0.75, 1e-12);
  EXPECT_NEAR(update(logits, {0, 1}, {0, 1}), 8.0 / 9, 1e-12) << "0 and 1 are below and above all others";
  EXPECT_NEAR(update(best.f1, truth, rare), 0.8, 1e-12);
  EXPECT_NEAR(value<double>(best.threshold.value), 0.00045, 0.00015);
}

TEST_F(MetricsTest, BadInputIsNamed) {
  EXPECT_EQ(error_of([&] { metrics::auc(labels, predictions, Output(), 1); }),
            "INVALID_ARGUMENT: auc: num_thresholds must be at least 2, got 1");
  EXPECT_EQ(error_of([&] { metrics::confusion_matrix(labels, predictions, 0); }),
            "INVALID_ARGUMENT: confusion_matrix: classes must be at least 1, got 0");
  EXPECT_EQ(error_of([&] { metrics::in_top_k(labels, predictions, 0); }),
            "INVALID_ARGUMENT: in_top_k: k must be at least 1, got 0");
  const Output pairs = ops::placeholder(g, DType::kFloat32, Dims{-1, 2}, "pairs");
  EXPECT_EQ(error_of([&] { metrics::mean_squared_error(labels, pairs); }),
            "INVALID_ARGUMENT: mean_squared_error: the labels 'labels:0' (float32 [?]) and the predictions 'pairs:0' "
            "(float32 [?, 2]) must have one shape");
  EXPECT_EQ(error_of([&] { metrics::in_top_k(labels, predictions, 1); }),
            "INVALID_ARGUMENT: in_top_k: the predictions 'predictions:0' (float32 [?]) must have the dimensions of "
            "the labels 'labels:0' (float32 [?]) and a last one of known size, the classes");
  EXPECT_EQ(error_of([&] { metrics::mean(labels, pairs); }),
            "INVALID_ARGUMENT: the weights 'pairs:0' (float32 [?, 2]) have more dimensions than what they are for, "
            "'labels:0' (float32 [?])");
}

}  // namespace
}  // namespace belay::runtime
