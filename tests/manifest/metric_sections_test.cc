// SPDX-License-Identifier: Apache-2.0
// [[metrics]]
#include <gtest/gtest.h>

#include "tests/manifest/parsed.h"

namespace belay::runtime {
namespace {

std::vector<MetricSection> metrics_of(const std::string& text) {
  const Parsed result = parsed(text + kRest);
  EXPECT_EQ(result.errors, "");
  return result.manifest.value().metrics;
}

TEST(MetricSections, HaveTheirKeys) {
  const auto metrics = metrics_of(
      "[[metrics]]\nkind = 'auc'\nname = 'area'\nlabels = 'label'\npredictions = 'dense/BiasAdd:0'\nweights = 'w'\n"
      "class_id = 0\nnum_thresholds = 2\ncurve = 'pr'\n[[metrics]]\nkind = 'mean'\nvalues = 'loss'\n");
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[0].kind, "auc");
  EXPECT_EQ(metrics[0].role(), "area");
  EXPECT_EQ(metrics[0].labels.name, "label");
  EXPECT_EQ(metrics[0].predictions.name, "dense/BiasAdd:0");
  EXPECT_EQ(metrics[0].weights.name, "w");
  EXPECT_EQ(metrics[0].class_id, 0);
  EXPECT_EQ(metrics[0].num_thresholds, 2);
  EXPECT_EQ(metrics[0].curve, "pr");
  EXPECT_EQ(metrics[1].role(), "mean");
  EXPECT_EQ(metrics[1].values.name, "loss");
  EXPECT_EQ(metrics[1].k, 5);
}

TEST(MetricSections, KeepWhereTheyAreWritten) {
  const auto metrics = metrics_of("[[metrics]]\nkind = 'accuracy'\nlabels = 'a'\npredictions = 'b'\n");
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].at.line, 1);
  EXPECT_EQ(metrics[0].name_at.line, 1) << "of the table where there is no name";
  EXPECT_EQ(metrics[0].labels.at.line, 3);
  EXPECT_EQ(metrics[0].labels.at.column, 10);
  EXPECT_EQ(metrics[0].predictions.at.line, 4);
}

TEST(MetricSections, MistakesAreReported) {
  const std::string tensors = "labels = 'a'\npredictions = 'b'\n";
  const struct {
    std::string text, expected;
  } cases[] = {
      {"[[metrics]]\nlabels = 'a'\n",
       "train.toml:1:1: error[B1033]: a metric needs a kind\n  [[metrics]]\n  ^~~~~~~~~~~\n  help: give one of "
       "accuracy, mean, auc, precision, recall, confusion_matrix, mean_squared_error, root_mean_squared_error, "
       "mean_absolute_error, in_top_k, perplexity, true_positives, true_negatives, false_positives, false_negatives\n"},
      {"[[metrics]]\nkind = 'acuracy'\nk = 3\n",
       "train.toml:2:8: error[B1014]: metrics.0.kind must be one of accuracy, mean, auc, precision, recall, "
       "confusion_matrix, mean_squared_error, root_mean_squared_error, mean_absolute_error, in_top_k, perplexity, "
       "true_positives, true_negatives, false_positives, false_negatives; found \"acuracy\"\n  kind = 'acuracy'\n      "
       "   ^~~~~~~~~\n  help: did you mean \"accuracy\"?\n"},
      {"[[metrics]]\nkind = 'accuracy'\nlabels = 'a'\n",
       "train.toml:1:1: error[B1033]: kind = \"accuracy\" needs predictions\n  [[metrics]]\n  ^~~~~~~~~~~\n"
       "  help: give the name of a tensor: predictions = \"NAME\"; `belay graph` lists them\n"},
      {"[[metrics]]\nkind = 'accuracy'\nlables = 'a'\npredictions = 'b'\n",
       "train.toml:1:1: error[B1033]: kind = \"accuracy\" needs labels\n  [[metrics]]\n  ^~~~~~~~~~~\n"
       "  help: give the name of a tensor: labels = \"NAME\"; `belay graph` lists them\n"
       "train.toml:3:1: error[B1003]: unknown key \"lables\" in [metrics.0]\n  lables = 'a'\n  ^~~~~~\n"
       "  help: did you mean \"labels\"?\n"},
      {"[[metrics]]\nkind = 'perplexity'\nvalues = 'v'\n" + tensors,
       "train.toml:4:1: error[B1016]: metrics.0.labels is for the kinds that compare labels with predictions only\n"
       "  labels = 'a'\n  ^~~~~~\n  help: take it away\n"
       "train.toml:5:1: error[B1016]: metrics.0.predictions is for the kinds that compare labels with predictions "
       "only\n"
       "  predictions = 'b'\n  ^~~~~~~~~~~\n  help: take it away\n"},
      {"[[metrics]]\nkind = 'accuracy'\nk = 3\n" + tensors,
       "train.toml:3:1: error[B1016]: metrics.0.k is for kind = \"in_top_k\" only\n  k = 3\n  ^\n  help: take it "
       "away\n"},
      {"[[metrics]]\nkind = 'confusion_matrix'\n" + tensors,
       "train.toml:1:1: error[B1033]: a confusion_matrix needs classes\n  [[metrics]]\n  ^~~~~~~~~~~\n"
       "  help: give their number: classes = 10\n"},
      {"[[metrics]]\nkind = 'auc'\nnum_thresholds = 1\n" + tensors,
       "train.toml:3:18: error[B1013]: metrics.0.num_thresholds must be from 2 to 100000, found 1\n  num_thresholds = "
       "1\n"
       "                   ^\n"},
      {"[[metrics]]\nkind = 'mean'\nname = 'loss'\nvalues = 'v'\n",
       "train.toml:3:8: error[B1025]: every evaluation reports loss already\n  name = 'loss'\n         ^~~~~~\n"
       "  help: give the metric another name\n"},
      {"[[metrics]]\nkind = 'mean'\nname = 'a/b'\nvalues = 'v'\n",
       "train.toml:3:8: error[B1024]: the name of a metric has letters, digits, '_', '-' and '.', at most 63\n  name = "
       "'a/b'\n         ^~~~~\n  help: give it another name\n"},
      {"[[metrics]]\nkind = 'mean'\nvalues = 'v'\n[[metrics]]\nkind = 'perplexity'\nname = 'mean'\nvalues = 'v'\n",
       "train.toml:6:8: error[B1025]: metrics.1 has the name \"mean\" of an earlier one\n  name = 'mean'\n         "
       "^~~~~~\n"
       "  help: a metric is known by its name: give it another\n"},
      {"[metrics]\nkind = 'mean'\n",
       "train.toml:1:2: error[B1012]: metrics must be a list of tables, found a table\n  [metrics]\n   ^~~~~~~\n"
       "  help: begin each metric with [[metrics]]\n"},
      {"metrics = ['mean']\n",
       "train.toml:1:12: error[B1012]: metrics.0 must be a table, found the string \"mean\"\n  metrics = ['mean']\n"
       "             ^~~~~~\n  help: begin each metric with [[metrics]]\n"},
      {"[metric]\nkind = 'mean'\n",
       "train.toml:1:2: error[B1004]: unknown section [metric]\n  [metric]\n   ^~~~~~\n  help: did you mean "
       "[[metrics]]?\n"},
      {"[run]\nnum_thresholds = 5\n",
       "train.toml:2:1: error[B1003]: unknown key \"num_thresholds\" in [run]\n  num_thresholds = 5\n  ^~~~~~~~~~~~~~\n"
       "  help: this key belongs to [[metrics]]\n"},
  };
  for (const auto& c : cases) EXPECT_EQ(errors_of(c.text), c.expected) << c.text;
}

TEST(MetricSections, ASetReachesThem) {
  const Parsed result = parsed("[[metrics]]\nkind = 'mean'\nvalues = 'v'\n" + kRest, {"metrics.0.values=w"});
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(result.manifest->metrics.at(0).values.name, "w");
}

}  // namespace
}  // namespace belay::runtime
