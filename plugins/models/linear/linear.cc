// SPDX-License-Identifier: Apache-2.0
// One layer: y = x W + b. It is linear regression if the label is a number, and logistic regression if it is a class.
#include <belay/heads.h>
#include <belay/ops/matmul.h>
#include <belay/plugin.h>

namespace {

class Linear final : public belay::Model {
 public:
  struct Options {
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
      belay::option("use_bias", &Options::use_bias, "true: adds a trained constant to each output"));

  explicit Linear(const Options& options) : options_(options) {}

  void build(belay::ModelContext& model) override {
    const belay::Output x = belay::feature_matrix(model);
    belay::ops::DenseOptions layer;
    layer.use_bias = options_.use_bias;
    layer.name = "linear";
    // The loss has one minimum. So zero is as good a start as any, and the same for every seed.
    layer.kernel_initializer = [](const belay::Graph& g, const belay::Dims& dims, belay::DType dtype) {
      return belay::ops::zeros(g, dims, dtype);
    };
    const std::int64_t units = belay::head_units(model, options_.task, options_.classes);
    belay::add_head(model, belay::ops::dense(x, units, layer), options_.task);
  }

 private:
  Options options_;
};

}  // namespace

BELAY_MODULE("1.0.0", Linear)
