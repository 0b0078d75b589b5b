// SPDX-License-Identifier: Apache-2.0
// One layer: y = x W + b. Each id of a category has a row of W. It is linear regression if the label is a number, and
// logistic regression if it is a class.
#include <belay/configured_head.h>
#include <belay/ops/matmul.h>
#include <belay/plugin.h>

namespace {

class Linear final : public belay::Model {
 public:
  struct Options : belay::HeadOptions {
    belay::Str task = "auto";
    std::int64_t classes = 0;
    bool use_bias = true;
  };
  static constexpr auto about = belay::about(
      "linear", "Linear regression, or logistic regression if the label is a class",
      belay::option("task", &Options::task, "task of the model; auto: the type of the label decides")
          .choices("auto", "classification", "regression"),
      belay::option("classes", &Options::classes, "number of classes; 0 means as many as the input declares, else 10")
          .range(0, 1e9),
      belay::option("use_bias", &Options::use_bias, "true: adds a trained constant to each output"),
      belay::head_options<Options>());

  explicit Linear(const Options& options) : options_(options) {}

  void build(belay::ModelContext& model) override {
    const belay::ConfiguredHead head(model, options_, options_.task, options_.classes);
    head.add(model, weighted(model, head.units()));
  }

 private:
  belay::Output weighted(const belay::ModelContext& model, std::int64_t units) const {
    const belay::Graph& g = model.graph();
    const auto scope = g.scope("linear");
    const belay::Output y = belay::linear_part(g, belay::number_matrix(model), belay::categories_of(model), units);
    if (!options_.use_bias) return y;
    return belay::ops::bias_add(y, belay::ops::variable(g, "bias", belay::ops::zeros(g, {units})));
  }

  Options options_;
};

}  // namespace

BELAY_MODULE("1.0.0", Linear)
