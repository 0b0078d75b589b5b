// SPDX-License-Identifier: Apache-2.0
// The values of belay/ops/metrics.h: cases computed by hand, and random examples, cut into batches in any way, against
// sums that are made here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "belay/ops/metrics.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime {
namespace {

namespace metrics = ops::metrics;
using Numbers = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kClasses = 3, kTop = 2, kThresholds = 5;

// predictions: one number for each label, for in_top_k one for each of kClasses. weights: none, or one for each label.
struct Examples {
  Numbers labels, predictions, weights;

  double weight(std::size_t i) const { return weights.empty() ? 1 : weights[i]; }
  std::size_t width() const { return labels.empty() ? 1 : predictions.size() / labels.size(); }
  Examples part(std::size_t begin, std::size_t end) const {
    const auto cut = [&](const Numbers& of, std::size_t each) {
      return of.empty() ? Numbers() : Numbers(of.data() + begin * each, of.data() + end * each);
    };
    return {cut(labels, 1), cut(predictions, width()), cut(weights, 1)};
  }
};

Output whole(const Output& x) { return ops::cast(x, DType::kInt64); }

using Make = std::function<ops::Metric(const Output& labels, const Output& predictions, const Output& weights)>;
const std::map<std::string, Make>& all_metrics() {
  using O = Output;
  const auto plain = [](auto metric) {
    return [metric](const O& l, const O& p, const O& w) { return metric(l, p, w, std::string_view()); };
  };
  static const std::map<std::string, Make> all{
      {"mean", [](const O&, const O& p, const O& w) { return metrics::mean(p, w); }},
      {"perplexity", [](const O&, const O& p, const O& w) { return metrics::perplexity(p, w); }},
      {"accuracy", plain(metrics::accuracy)},
      {"mean_squared_error", plain(metrics::mean_squared_error)},
      {"root_mean_squared_error", plain(metrics::root_mean_squared_error)},
      {"mean_absolute_error", plain(metrics::mean_absolute_error)},
      {"true_positives", plain(metrics::true_positives)},
      {"true_negatives", plain(metrics::true_negatives)},
      {"false_positives", plain(metrics::false_positives)},
      {"false_negatives", plain(metrics::false_negatives)},
      {"precision", plain(metrics::precision)},
      {"recall", plain(metrics::recall)},
      {"in_top_k",
       [](const O& l, const O& p, const O& w) {
         return metrics::in_top_k(whole(l), ops::reshape(p, {-1, kClasses}), kTop, w);
       }},
      {"confusion_matrix",
       [](const O& l, const O& p, const O& w) { return metrics::confusion_matrix(whole(l), whole(p), kClasses, w); }},
      {"auc_roc", [](const O& l, const O& p, const O& w) { return metrics::auc(l, p, w, kThresholds); }},
      {"auc_pr", [](const O& l, const O& p,
                    const O& w) { return metrics::auc(l, p, w, kThresholds, metrics::Curve::kPrecisionRecall); }},
  };
  return all;
}

class MetricValues : public testing::SessionTest {
 protected:
  void make(const std::string& metric, bool weighted) {
    metric_ = all_metrics().at(metric)(labels_, predictions_, weighted ? weights_ : Output());
    open();
    initialize();
  }
  Numbers update(const Examples& batch) {
    const auto tensor = [](const Numbers& v) { return Tensor({static_cast<std::int64_t>(v.size())}, v); };
    return values<double>(metric_.update, {{labels_, tensor(batch.labels)},
                                           {predictions_, tensor(batch.predictions)},
                                           {weights_, tensor(batch.weights)}});
  }
  Numbers value() { return values<double>(metric_.value); }
  void start_again() { session().run_once(graph.collection("local_variable_init")); }

 private:
  Output labels_ = ops::placeholder(g, DType::kFloat64, Dims{-1}, "labels");
  Output predictions_ = ops::placeholder(g, DType::kFloat64, Dims{-1}, "predictions");
  Output weights_ = ops::placeholder(g, DType::kFloat64, Dims{-1}, "weights");
  ops::Metric metric_;
};

void expect_equal(const Numbers& got, const Numbers& expected, double bound = 1e-12) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << got[i] << " at " << i;
    } else {
      EXPECT_NEAR(got[i], expected[i], bound * std::max(1.0, std::abs(expected[i]))) << "at " << i;
    }
  }
}

// ---- by hand

struct MetricCase {
  const char* metric;
  const char* title;
  Examples examples;
  Numbers expected;
};

// Other metrics are undefined while there is nothing to count.
bool is_a_count(const std::string& metric) {
  return metric.starts_with("true_") || metric.starts_with("false_") || metric == "confusion_matrix";
}

class MetricTable : public MetricValues, public ::testing::WithParamInterface<MetricCase> {};

TEST_P(MetricTable, IsAsComputedByHand) {
  const MetricCase& c = GetParam();
  make(c.metric, !c.examples.weights.empty());
  expect_equal(value(), Numbers(c.expected.size(), is_a_count(c.metric) ? 0 : kNan));  // before the first update
  expect_equal(update(c.examples), c.expected);
  expect_equal(value(), c.expected);
  start_again();
  for (std::size_t i = 0; i < c.examples.labels.size(); ++i) update(c.examples.part(i, i + 1));
  expect_equal(value(), c.expected);  // one by one
}

const Numbers kNoMatrix(9, 0);
// Two classes: true positives 2, false positives 1, true negatives 1, false negatives 1; weighted 3, 4, 0, 5.
const Examples kTruths{{1, 1, 0, 0, 1}, {1, 1, 1, 0, 0}, {}};
const Examples kWeightedTruths{{1, 1, 0, 0, 1}, {1, 1, 1, 0, 0}, {1, 2, 4, 0, 5}};
// e^2 as a mean of logarithms.
const double kE2 = std::exp(2.0);

// NOLINTBEGIN(readability-magic-numbers)
const std::vector<MetricCase> kMeans{
    {"mean", "Empty", {{}, {}, {}}, {kNan}},
    {"mean", "Plain", {{0, 0, 0}, {1, 2, 6}, {}}, {3}},
    {"mean", "Nan", {{0, 0}, {1, kNan}, {}}, {kNan}},
    {"mean", "NanOfWeightZero", {{0, 0, 0}, {1, kNan, 3}, {1, 0, 3}}, {2.5}},
    {"mean", "InfinityOfWeightZero", {{0, 0}, {1, INFINITY}, {1, 0}}, {1}},
    {"mean", "NanAsWeight", {{0, 0}, {1, 2}, {1, kNan}}, {kNan}},
    {"mean", "AllWeightsZero", {{0, 0}, {1, 2}, {0, 0}}, {kNan}},
    {"mean", "Weights", {{0, 0, 0}, {1, 2, 4}, {1, 0, 0.5}}, {2}},
    {"perplexity", "Empty", {{}, {}, {}}, {kNan}},
    {"perplexity", "Plain", {{0, 0}, {1, 3}, {}}, {kE2}},
    {"perplexity", "OfOneOfEight", {{0, 0}, {std::log(8.0), std::log(8.0)}, {}}, {8}},
    {"perplexity", "SureAndRight", {{0}, {0}, {}}, {1}},
    {"perplexity", "Nan", {{0, 0}, {1, kNan}, {}}, {kNan}},
    {"perplexity", "NanOfWeightZero", {{0, 0}, {2, kNan}, {5, 0}}, {kE2}},
    {"perplexity", "AllWeightsZero", {{0, 0}, {1, 2}, {0, 0}}, {kNan}},
    {"perplexity", "Weights", {{0, 0}, {1, 2.5}, {1, 2}}, {kE2}},
    {"mean_squared_error", "Empty", {{}, {}, {}}, {kNan}},
    {"mean_squared_error", "Plain", {{1, 2, 3}, {1, 4, 0}, {}}, {13.0 / 3}},
    {"mean_squared_error", "Nan", {{1, 2}, {1, kNan}, {}}, {kNan}},
    {"mean_squared_error", "NanOfWeightZero", {{1, 2}, {3, kNan}, {2, 0}}, {4}},
    {"mean_squared_error", "AllWeightsZero", {{1}, {5}, {0}}, {kNan}},
    {"mean_squared_error", "Weights", {{1, 2, 3}, {1, 4, 0}, {1, 2, 1}}, {17.0 / 4}},
    {"root_mean_squared_error", "Empty", {{}, {}, {}}, {kNan}},
    {"root_mean_squared_error", "Plain", {{0, 0}, {1, 7}, {}}, {5}},
    {"root_mean_squared_error", "Nan", {{1, 2}, {1, kNan}, {}}, {kNan}},
    {"root_mean_squared_error", "NanOfWeightZero", {{1, 2}, {4, kNan}, {2, 0}}, {3}},
    {"root_mean_squared_error", "AllWeightsZero", {{1}, {5}, {0}}, {kNan}},
    {"root_mean_squared_error", "Weights", {{0, 0}, {2, 6}, {5, 1}}, {3.0550504633038935}},  // sqrt(28 / 3)
    {"mean_absolute_error", "Empty", {{}, {}, {}}, {kNan}},
    {"mean_absolute_error", "Plain", {{1, 2, 3}, {1, 4, 0}, {}}, {5.0 / 3}},
    {"mean_absolute_error", "Nan", {{1, 2}, {1, kNan}, {}}, {kNan}},
    {"mean_absolute_error", "NanOfWeightZero", {{1, 2}, {3, kNan}, {2, 0}}, {2}},
    {"mean_absolute_error", "AllWeightsZero", {{1}, {5}, {0}}, {kNan}},
    {"mean_absolute_error", "Weights", {{1, 2, 3}, {1, 4, 0}, {1, 2, 1}}, {7.0 / 4}},
};
const std::vector<MetricCase> kAgreements{
    {"accuracy", "Empty", {{}, {}, {}}, {kNan}},
    {"accuracy", "Plain", kTruths, {0.6}},
    {"accuracy", "OneClass", {{2, 2, 2}, {2, 2, 2}, {}}, {1}},
    {"accuracy", "Nan", {{1, kNan, 1}, {kNan, kNan, 1}, {}}, {1.0 / 3}},
    {"accuracy", "NanOfWeightZero", {{1, 1}, {kNan, 1}, {0, 1}}, {1}},
    {"accuracy", "AllWeightsZero", {{1, 1}, {1, 1}, {0, 0}}, {kNan}},
    {"accuracy", "Weights", kWeightedTruths, {0.25}},
    {"in_top_k", "Empty", {{}, {}, {}}, {kNan}},
    {"in_top_k", "Plain", {{0, 2, 1}, {0.5, 0.3, 0.2, 0.5, 0.3, 0.2, 0.5, 0.3, 0.2}, {}}, {2.0 / 3}},
    {"in_top_k", "TiesAreIn", {{0, 2}, {1, 1, 1, 0.5, 0.2, 0.2}, {}}, {1}},
    {"in_top_k", "TiesAboveAreNot", {{2}, {0.4, 0.4, 0.2}, {}}, {0}},
    {"in_top_k", "OneClass", {{1, 1}, {0, 1, 0, 0, 1, 0}, {}}, {1}},
    {"in_top_k", "Nan", {{0, 1}, {1, kNan, 0, 0, 1, 0}, {}}, {0.5}},
    {"in_top_k", "NanOfWeightZero", {{0, 1}, {kNan, 0, 0, 0, 1, 0}, {0, 2}}, {1}},
    {"in_top_k", "NoClass", {{3, -1, 0}, {1, 0, 0, 1, 0, 0, 1, 0, 0}, {}}, {1.0 / 3}},
    {"in_top_k", "AllWeightsZero", {{0}, {1, 0, 0}, {0}}, {kNan}},
    {"in_top_k", "Weights", {{0, 2}, {0.5, 0.3, 0.2, 0.5, 0.3, 0.2}, {3, 1}}, {0.75}},
    {"confusion_matrix", "Empty", {{}, {}, {}}, kNoMatrix},
    {"confusion_matrix", "RowsAreLabels", {{0, 1, 1, 2, 2, 2}, {0, 1, 2, 2, 2, 0}, {}}, {1, 0, 0, 0, 1, 1, 1, 0, 2}},
    {"confusion_matrix", "OneClass", {{1, 1}, {1, 1}, {}}, {0, 0, 0, 0, 2, 0, 0, 0, 0}},
    {"confusion_matrix", "NoClass", {{-1, 3, 0, 0}, {0, 0, 5, 0}, {}}, {1, 0, 0, 0, 0, 0, 0, 0, 0}},
    // Its labels and predictions are whole numbers, so none is NaN.
    {"confusion_matrix", "NoClassOfWeightZero", {{1, 2}, {7, 0}, {0, 3}}, {0, 0, 0, 0, 0, 0, 3, 0, 0}},
    {"confusion_matrix", "AllWeightsZero", {{0, 1}, {0, 1}, {0, 0}}, kNoMatrix},
    {"confusion_matrix", "NanAsWeight", {{0}, {1}, {kNan}}, Numbers(9, kNan)},
    {"confusion_matrix", "Weights", {{0, 0, 2}, {1, 1, 0}, {0.5, 2, 0.25}}, {0, 2.5, 0, 0, 0, 0, 0.25, 0, 0}},
};
const std::vector<MetricCase> kTruthCases{
    {"true_positives", "Empty", {{}, {}, {}}, {0}},
    {"true_positives", "Plain", kTruths, {2}},
    {"true_positives", "Weights", kWeightedTruths, {3}},
    {"true_positives", "OneClass", {{1, 1}, {1, 1}, {}}, {2}},
    {"true_positives", "AllWeightsZero", {{1, 1}, {1, 1}, {0, 0}}, {0}},
    {"true_positives", "NanIsTrue", {{1, kNan}, {kNan, kNan}, {}}, {2}},
    {"true_positives", "NanOfWeightZero", {{1, 1}, {kNan, 1}, {0, 3}}, {3}},
    {"true_positives", "NanAsWeight", {{1, 1}, {0, 1}, {kNan, 3}}, {kNan}},
    {"false_positives", "Empty", {{}, {}, {}}, {0}},
    {"false_positives", "Plain", kTruths, {1}},
    {"false_positives", "Weights", kWeightedTruths, {4}},
    {"false_positives", "OneClass", {{1, 1}, {1, 0}, {}}, {0}},
    {"false_positives", "AllWeightsZero", {{0, 0}, {1, 1}, {0, 0}}, {0}},
    {"false_positives", "NanIsTrue", {{0, kNan, 0}, {kNan, 1, 0}, {}}, {1}},
    {"false_positives", "NanOfWeightZero", {{0, 0}, {kNan, 1}, {0, 3}}, {3}},
    {"false_positives", "NanAsWeight", {{0, 0}, {0, 1}, {kNan, 3}}, {kNan}},
    {"true_negatives", "Empty", {{}, {}, {}}, {0}},
    {"true_negatives", "Plain", kTruths, {1}},
    {"true_negatives", "Weights", kWeightedTruths, {0}},
    {"true_negatives", "OneClass", {{0, 0}, {0, 0}, {}}, {2}},
    {"true_negatives", "AllWeightsZero", {{0, 0}, {0, 0}, {0, 0}}, {0}},
    {"true_negatives", "NanIsTrue", {{0, kNan, 0}, {0, 0, kNan}, {}}, {1}},
    {"true_negatives", "NanOfWeightZero", {{0, kNan}, {0, 0}, {2, 0}}, {2}},
    {"true_negatives", "NanAsWeight", {{1, 0}, {1, 0}, {kNan, 3}}, {kNan}},
    {"false_negatives", "Empty", {{}, {}, {}}, {0}},
    {"false_negatives", "Plain", kTruths, {1}},
    {"false_negatives", "Weights", kWeightedTruths, {5}},
    {"false_negatives", "OneClass", {{0, 0}, {1, 0}, {}}, {0}},
    {"false_negatives", "AllWeightsZero", {{1, 1}, {0, 0}, {0, 0}}, {0}},
    {"false_negatives", "NanIsTrue", {{kNan, 1}, {0, kNan}, {}}, {1}},
    {"false_negatives", "NanOfWeightZero", {{kNan, 1}, {0, 0}, {0, 3}}, {3}},
    {"false_negatives", "NanAsWeight", {{1, 1}, {1, 0}, {kNan, 3}}, {kNan}},
    {"precision", "Empty", {{}, {}, {}}, {kNan}},
    {"precision", "Plain", kTruths, {2.0 / 3}},
    {"precision", "Weights", kWeightedTruths, {3.0 / 7}},
    {"precision", "NothingPredicted", {{1, 0}, {0, 0}, {}}, {0}},
    {"precision", "OnlyTrueOnes", {{1, 1}, {1, 0}, {}}, {1}},
    {"precision", "OnlyFalseOnes", {{0, 0}, {1, 0}, {}}, {0}},
    {"precision", "AllWeightsZero", {{1, 0}, {1, 1}, {0, 0}}, {kNan}},
    {"precision", "NanIsTrue", {{1, 0}, {kNan, kNan}, {}}, {0.5}},
    {"precision", "NanOfWeightZero", {{1, 0, 0}, {1, kNan, 1}, {1, 0, 1}}, {0.5}},
    {"precision", "NanAsWeight", {{1, 0}, {1, 1}, {kNan, 1}}, {kNan}},
    {"recall", "Empty", {{}, {}, {}}, {kNan}},
    {"recall", "Plain", kTruths, {2.0 / 3}},
    {"recall", "Weights", kWeightedTruths, {3.0 / 8}},
    {"recall", "OnlyTrueOnes", {{1, 1}, {1, 0}, {}}, {0.5}},
    {"recall", "OnlyFalseOnes", {{0, 0}, {1, 0}, {}}, {kNan}},
    {"recall", "AllWeightsZero", {{1, 0}, {1, 1}, {0, 0}}, {kNan}},
    {"recall", "NanIsTrue", {{1, 1, kNan}, {kNan, 0, 0}, {}}, {1.0 / 3}},
    {"recall", "NanOfWeightZero", {{1, kNan, 1}, {1, 0, 0}, {1, 0, 1}}, {0.5}},
    {"recall", "NanAsWeight", {{1, 0}, {1, 1}, {kNan, 1}}, {kNan}},
};
// Thresholds just below 0, 1/4, 1/2, 3/4 and just above 1. ROC: the share of (true, false) pairs in order.
const std::vector<MetricCase> kAreas{
    {"auc_roc", "Empty", {{}, {}, {}}, {kNan}},
    {"auc_roc", "Parted", {{0, 0, 1, 1}, {0.1, 0.2, 0.7, 0.8}, {}}, {1}},
    {"auc_roc", "PartedTheWrongWay", {{1, 1, 0, 0}, {0.1, 0.2, 0.7, 0.8}, {}}, {0}},
    {"auc_roc", "FiveOfSixPairs", {{0, 1, 1, 0, 0}, {0.1, 0.9, 0.4, 0.6, 0.2}, {}}, {5.0 / 6}},
    {"auc_roc", "TiesAreHalf", {{0, 1}, {0.6, 0.6}, {}}, {0.5}},
    {"auc_roc", "BetweenTwoThresholdsIsATie", {{0, 1}, {0.51, 0.74}, {}}, {0.5}},
    {"auc_roc", "AThresholdItselfIsBelow", {{0, 1}, {0.5, 0.51}, {}}, {1}},
    {"auc_roc", "ZeroAndOne", {{0, 1, 1}, {0, 1, 0}, {}}, {0.75}},
    {"auc_roc", "OnlyTrueOnes", {{1, 1}, {0.3, 0.9}, {}}, {kNan}},
    {"auc_roc", "OnlyFalseOnes", {{0, 0}, {0.3, 0.9}, {}}, {kNan}},
    {"auc_roc", "Nan", {{0, 1}, {kNan, 0.9}, {}}, {kNan}},
    {"auc_roc", "NanOfWeightZero", {{0, 0, 1}, {0.1, kNan, 0.9}, {1, 0, 1}}, {1}},
    {"auc_roc", "ALogitIsNoProbability", {{0, 1}, {0.5, 1.1}, {}}, {kNan}},
    {"auc_roc", "RoundedAboveOne", {{0, 1}, {-1e-7, 1.0000002}, {}}, {1}},
    {"auc_roc", "AllWeightsZero", {{0, 1}, {0.1, 0.9}, {0, 0}}, {kNan}},
    {"auc_roc", "Weights", {{0, 0, 1, 1}, {0.1, 0.6, 0.4, 0.9}, {1, 3, 2, 6}}, {26.0 / 32}},
    {"auc_pr", "Empty", {{}, {}, {}}, {kNan}},
    {"auc_pr", "Parted", {{0, 0, 1, 1}, {0.1, 0.2, 0.7, 0.8}, {}}, {1}},
    {"auc_pr", "OnlyTrueOnes", {{1, 1}, {0.3, 0.9}, {}}, {1}},
    {"auc_pr", "OnlyFalseOnes", {{0, 0}, {0.3, 0.9}, {}}, {kNan}},
    {"auc_pr", "TiesAreTheShareOfTrueOnes", {{0, 1, 1, 1}, {0.6, 0.6, 0.6, 0.6}, {}}, {0.75}},
    // (predicted, true) from (0, 0) to (1, 0), (2, 1): s = 1, c = -1: 1 - ln(2 / 1).
    {"auc_pr", "NotAStraightLine", {{0, 1}, {0.9, 0.6}, {}}, {1 - 0.6931471805599453}},
    // (0, 0), (1, 1), (3, 1), (4, 2): 1/2 and (1 - 2 ln(4/3)) / 2.
    {"auc_pr", "ThreePoints", {{1, 0, 0, 1}, {0.9, 0.6, 0.6, 0.1}, {}}, {1 - 0.28768207245178085}},
    {"auc_pr", "Nan", {{0, 1}, {kNan, 0.9}, {}}, {kNan}},
    {"auc_pr", "NanOfWeightZero", {{0, 0, 1}, {0.1, kNan, 0.9}, {1, 0, 1}}, {1}},
    {"auc_pr", "AllWeightsZero", {{0, 1}, {0.1, 0.9}, {0, 0}}, {kNan}},
    // (0, 0), (2, 0), (4, 2): s = 1, c = -2: (2 - 2 ln 2) / 2.
    {"auc_pr", "Weights", {{0, 1}, {0.9, 0.6}, {2, 2}}, {1 - 0.6931471805599453}},
};
// NOLINTEND(readability-magic-numbers)

std::string name_of_case(const ::testing::TestParamInfo<MetricCase>& c) {
  return std::string(c.param.metric) + "_" + c.param.title;
}
INSTANTIATE_TEST_SUITE_P(Means, MetricTable, ::testing::ValuesIn(kMeans), name_of_case);
INSTANTIATE_TEST_SUITE_P(Agreements, MetricTable, ::testing::ValuesIn(kAgreements), name_of_case);
INSTANTIATE_TEST_SUITE_P(Truths, MetricTable, ::testing::ValuesIn(kTruthCases), name_of_case);
INSTANTIATE_TEST_SUITE_P(Areas, MetricTable, ::testing::ValuesIn(kAreas), name_of_case);

// ---- against sums

using At = std::function<double(const Examples&, std::size_t)>;
double sum_of(const Examples& e, const At& at) {
  double sum = 0;
  for (std::size_t i = 0; i < e.labels.size(); ++i) sum += e.weight(i) * at(e, i);
  return sum;
}
double mean_by_sums(const Examples& e, const At& at) {
  return sum_of(e, at) / sum_of(e, [](const Examples&, std::size_t) { return 1; });
}
double error(const Examples& e, std::size_t i) { return e.predictions[i] - e.labels[i]; }
At is(double label, double prediction) {
  return [=](const Examples& e, std::size_t i) { return e.labels[i] == label && e.predictions[i] == prediction; };
}

// How many thresholds a prediction is above.
int thresholds_below(double prediction) {
  int n = 1;
  while (n < kThresholds - 1 && prediction > static_cast<double>(n) / (kThresholds - 1)) ++n;
  return n;
}
double roc_by_pairs(const Examples& e) {
  double in_order = 0, all = 0;
  for (std::size_t i = 0; i < e.labels.size(); ++i)
    for (std::size_t j = 0; j < e.labels.size(); ++j) {
      if (e.labels[i] != 1 || e.labels[j] != 0) continue;
      const int above = thresholds_below(e.predictions[i]) - thresholds_below(e.predictions[j]);
      all += e.weight(i) * e.weight(j);
      in_order += e.weight(i) * e.weight(j) * (above > 0 ? 1 : above == 0 ? 0.5 : 0);
    }
  return in_order / all;
}
// The integral of precision over recall by Simpson's rule, both along straight lines of (predicted, true).
double precision_recall_by_simpson(const Examples& e) {
  const auto points = [&](double label) {
    Numbers at(kThresholds, 0);
    for (int t = 0; t < kThresholds; ++t)
      at[static_cast<std::size_t>(t)] = sum_of(e, [&](const Examples& of, std::size_t i) {
        return of.labels[i] == label && thresholds_below(of.predictions[i]) > t ? 1 : 0;
      });
    return at;
  };
  const Numbers tp = points(1), fp = points(0);
  constexpr int kParts = 4000;
  double area = 0;
  for (std::size_t t = kThresholds - 1; t-- > 0;)
    for (int k = 0; k <= kParts; ++k) {
      const double x = static_cast<double>(k) / kParts;
      const double right = tp[t + 1] + x * (tp[t] - tp[t + 1]), wrong = fp[t + 1] + x * (fp[t] - fp[t + 1]);
      const double before_any = tp[t] / (tp[t] + fp[t]);
      const double precision = right + wrong > 0 ? right / (right + wrong) : tp[t] > 0 ? before_any : 0;
      area += (k == 0 || k == kParts ? 1 : k % 2 == 1 ? 4 : 2) * precision * (tp[t] - tp[t + 1]) / (3 * kParts);
    }
  return area / tp[0];
}

using BySums = std::function<Numbers(const Examples&)>;
const std::map<std::string, BySums>& sums() {
  const auto mean = [](At at) { return [at](const Examples& e) { return Numbers{mean_by_sums(e, at)}; }; };
  const auto count = [](At at) { return [at](const Examples& e) { return Numbers{sum_of(e, at)}; }; };
  const auto share = [](At at, At other) {
    return [at, other](const Examples& e) { return Numbers{sum_of(e, at) / (sum_of(e, at) + sum_of(e, other))}; };
  };
  const At prediction = [](const Examples& e, std::size_t i) { return e.predictions[i]; };
  const At squared = [](const Examples& e, std::size_t i) { return error(e, i) * error(e, i); };
  static const std::map<std::string, BySums> all{
      {"mean", mean(prediction)},
      {"perplexity", [=](const Examples& e) { return Numbers{std::exp(mean_by_sums(e, prediction))}; }},
      {"accuracy", mean([](const Examples& e, std::size_t i) { return error(e, i) == 0; })},
      {"mean_squared_error", mean(squared)},
      {"root_mean_squared_error", [=](const Examples& e) { return Numbers{std::sqrt(mean_by_sums(e, squared))}; }},
      {"mean_absolute_error", mean([](const Examples& e, std::size_t i) { return std::abs(error(e, i)); })},
      {"true_positives", count(is(1, 1))},
      {"true_negatives", count(is(0, 0))},
      {"false_positives", count(is(0, 1))},
      {"false_negatives", count(is(1, 0))},
      {"precision", share(is(1, 1), is(0, 1))},
      {"recall", share(is(1, 1), is(1, 0))},
      {"in_top_k", mean([](const Examples& e, std::size_t i) {
         const double* row = e.predictions.data() + i * kClasses;
         const double of_label = row[static_cast<std::size_t>(e.labels[i])];
         return std::count_if(row, row + kClasses, [&](double p) { return p > of_label; }) < kTop;
       })},
      {"confusion_matrix",
       [](const Examples& e) {
         Numbers matrix;
         for (double l = 0; l < kClasses; ++l)
           for (double p = 0; p < kClasses; ++p) matrix.push_back(sum_of(e, is(l, p)));
         return matrix;
       }},
      {"auc_roc", [](const Examples& e) { return Numbers{roc_by_pairs(e)}; }},
      {"auc_pr", [](const Examples& e) { return Numbers{precision_recall_by_simpson(e)}; }},
  };
  return all;
}

// Labels 0 and 1 (classes: 0 to 2); predictions that are classes where those are asked for, else multiples of 1/16, so
// that some are equal; weights of which every fifth is 0.
Examples random_examples(const std::string& metric, bool weighted, std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<double>(random() % n); };
  const bool top = metric == "in_top_k", classes = top || metric == "confusion_matrix";
  const bool numbers = metric == "mean" || metric == "perplexity" || metric.find("error") != metric.npos ||
                       metric.find("auc") != metric.npos || top;
  Examples e;
  for (int i = 0; i < 211; ++i) {
    e.labels.push_back(below(classes ? kClasses : 2));
    for (int j = 0; j < (top ? kClasses : 1); ++j)
      e.predictions.push_back(numbers ? below(17) / 16 : below(classes ? kClasses : 2));
    if (weighted) e.weights.push_back(i % 5 == 0 ? 0 : below(1000) / 700);
  }
  return e;
}

class AnySplit : public MetricValues, public ::testing::WithParamInterface<std::tuple<std::string, bool>> {};

TEST_P(AnySplit, HasTheSameValue) {
  const auto& [metric, weighted] = GetParam();
  std::mt19937_64 random(2026);
  const Examples all = random_examples(metric, weighted, random);
  make(metric, weighted);
  const Numbers whole = update(all);
  expect_equal(whole, sums().at(metric)(all), metric == "auc_pr" ? 1e-9 : 1e-12);
  for (int split = 0; split < 20; ++split) {
    start_again();
    // The first of them one by one; each now and then with a batch of no rows.
    for (std::size_t begin = 0; begin < all.labels.size();) {
      if (random() % 4 == 0) update(all.part(begin, begin));
      const std::size_t size = split == 0 ? 1 : 1 + random() % 40;
      const std::size_t end = std::min(begin + size, all.labels.size());
      update(all.part(begin, end));
      begin = end;
    }
    expect_equal(value(), whole);
  }
}

std::vector<std::string> names_of_metrics() {
  std::vector<std::string> names;
  for (const auto& [name, make] : all_metrics()) names.push_back(name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, AnySplit, ::testing::Combine(::testing::ValuesIn(names_of_metrics()), ::testing::Bool()),
                         [](const auto& c) {
                           return std::get<0>(c.param) + (std::get<1>(c.param) ? "_weighted" : "");
                         });

}  // namespace
}  // namespace belay::runtime
