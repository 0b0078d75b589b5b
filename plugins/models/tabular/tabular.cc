// SPDX-License-Identifier: Apache-2.0
// A model of tables: numbers and embedded categories through dense layers, and beside them a linear part. The variables
// of the two parts begin with "deep/" and "wide/", so that groups of the optimizer can name them.
#include <belay/configured_head.h>
#include <belay/ops/embedding.h>
#include <belay/ops/matmul.h>
#include <belay/ops/normalization.h>
#include <belay/ops/random.h>
#include <belay/plugin.h>

#include <algorithm>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kHidden[] = {64, 32};

class Tabular final : public belay::Model {
 public:
  struct Options : belay::HeadOptions {
    belay::List<std::int64_t> hidden = kHidden;
    belay::Str activation = "relu";
    double dropout = 0.2;
    belay::Str norm = "none";
    bool wide = true;
    std::int64_t embedding_width = 0;
  };
  static constexpr auto about = belay::about(
      "tabular", "Dense layers on numbers and embedded categories of a table, with a linear part beside them",
      belay::option("hidden", &Options::hidden, "number of units of each hidden layer of the deep part").range(1, 1e9),
      belay::option("activation", &Options::activation, "activation of the hidden layers")
          .choices("relu", "elu", "sigmoid", "tanh"),
      belay::option("dropout", &Options::dropout, "share of each hidden layer's outputs that is set to 0 in training")
          .range(0, 0.999),
      belay::option("norm", &Options::norm, "normalization of each hidden layer before its activation")
          .choices("none", "batch", "layer"),
      belay::option("wide", &Options::wide, "true: adds a linear part on all columns and categories"),
      belay::option("embedding_width", &Options::embedding_width,
                    "numbers of a category's embedding; 0 means half of its ids, at most 50")
          .range(0, 1e6),
      belay::head_options<Options>());

  explicit Tabular(const Options& options) : o_(options) {}

  void build(belay::ModelContext& model) override {
    const belay::ConfiguredHead head(model, o_);
    const std::vector<belay::NamedOutput> categories = belay::categories_of(model);
    const belay::Output numbers = belay::number_matrix(model);
    belay::Output logits = deep(model, numbers, categories, head.units());
    if (o_.wide) logits = belay::ops::add(logits, wide(model, numbers, categories, head.units()), "logits");
    head.add(model, logits, belay::HeadMetrics::kAll);
  }

 private:
  std::int64_t width_of(std::int64_t ids) const {
    constexpr std::int64_t kMost = 50;
    return o_.embedding_width != 0 ? o_.embedding_width : std::min(kMost, (ids + 1) / 2);
  }

  belay::Output deep(const belay::ModelContext& model, const belay::Output& numbers,
                     const std::vector<belay::NamedOutput>& categories, std::int64_t units) const {
    const auto scope = model.graph().scope("deep");
    std::vector<belay::Output> parts;
    if (numbers) parts.push_back(numbers);
    for (const belay::NamedOutput& c : categories) {
      belay::ops::EmbeddingOptions table;
      table.name = c.name;
      parts.push_back(belay::ops::embedding(c.output, c.classes, width_of(c.classes), table));
    }
    belay::Output x = parts.size() == 1 ? parts[0] : belay::ops::concat(parts, 1, "inputs");
    for (std::size_t i = 0; i < o_.hidden.size(); ++i)
      x = hidden(model, x, o_.hidden[i], "hidden_" + std::to_string(i + 1));
    belay::ops::DenseOptions last;
    last.name = "logits";
    return belay::ops::dense(x, units, last);
  }

  belay::Output hidden(const belay::ModelContext& model, belay::Output x, std::int64_t units,
                       const std::string& name) const {
    belay::ops::DenseOptions layer;
    layer.name = name;
    layer.use_bias = o_.norm != "batch";
    const belay::ops::Activation activation = belay::ops::activation_named(o_.activation);
    if (o_.norm == "none") layer.activation = activation;
    x = belay::ops::dense(x, units, layer);
    const std::string norm = name + "_norm";
    if (o_.norm == "batch") {
      belay::ops::BatchNormOptions options;
      options.momentum = 0.9;  // the runs of tables are short
      options.name = norm;
      x = belay::ops::batch_norm(x, model.training(), options);
    }
    if (o_.norm == "layer") {
      belay::ops::LayerNormOptions options;
      options.name = norm;
      x = belay::ops::layer_norm(x, options);
    }
    if (o_.norm != "none") x = belay::ops::activate(x, activation);
    return model.training() && o_.dropout > 0 ? belay::ops::dropout(x, o_.dropout, name + "_dropout") : x;
  }

  // It begins at 0, so that the model begins as its deep part. The bias is there.
  static belay::Output wide(const belay::ModelContext& model, const belay::Output& numbers,
                            const std::vector<belay::NamedOutput>& categories, std::int64_t units) {
    const auto scope = model.graph().scope("wide");
    return belay::linear_part(model.graph(), numbers, categories, units);
  }

  const Options o_;
};

}  // namespace

BELAY_MODULE("1.0.0", Tabular)
