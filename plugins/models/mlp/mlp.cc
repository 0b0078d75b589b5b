// SPDX-License-Identifier: Apache-2.0
// A multi-layer perceptron: dense layers with an activation, then a head. While training, dropout follows each layer.
#include <belay/configured_head.h>
#include <belay/ops/matmul.h>
#include <belay/ops/random.h>
#include <belay/plugin.h>

#include <string>

namespace {

constexpr std::int64_t kHidden[] = {128};

belay::ops::Activation activation_of(std::string_view name) {
  using belay::ops::Activation;
  if (name == "relu") return Activation::kRelu;
  if (name == "sigmoid") return Activation::kSigmoid;
  return Activation::kTanh;
}

class Mlp final : public belay::Model {
 public:
  struct Options : belay::HeadOptions {
    belay::List<std::int64_t> hidden = kHidden;
    belay::Str activation = "relu";
    belay::Str activation_op;
    double dropout = 0;
    belay::Str task = "auto";
    std::int64_t classes = 0;
  };
  static constexpr auto about = belay::about(
      "mlp", "A multi-layer perceptron",
      belay::option("hidden", &Options::hidden, "number of units of each hidden layer").range(1, 1e9),
      belay::option("activation", &Options::activation, "activation of the hidden layers")
          .choices("relu", "sigmoid", "tanh"),
      belay::option("activation_op", &Options::activation_op,
                    "operation of one input in place of 'activation', such as \"Mish\" of a plugin in [[ops]]"),
      belay::option("dropout", &Options::dropout, "share of each hidden layer's outputs that is set to 0 in training")
          .range(0, 0.999),
      belay::option("task", &Options::task, "task of the model; auto: the type of the label decides")
          .choices("auto", "classification", "regression"),
      belay::option("classes", &Options::classes, "number of classes; 0 means as many as the input declares, else 10")
          .range(0, 1e9),
      belay::head_options<Options>());

  explicit Mlp(const Options& options) : options_(options) {}

  void build(belay::ModelContext& model) override {
    const belay::ConfiguredHead head(model, options_, options_.task, options_.classes);
    belay::Output x = belay::feature_matrix(model);
    belay::ops::DenseOptions layer;
    const bool has_op = !options_.activation_op.empty();
    layer.activation = has_op ? belay::ops::Activation::kNone : activation_of(options_.activation);
    for (std::size_t i = 0; i < options_.hidden.size(); ++i) {
      const std::string name = "hidden_" + std::to_string(i + 1);
      layer.name = name;
      x = belay::ops::dense(x, options_.hidden[i], layer);
      if (has_op) x = model.graph().node(options_.activation_op, name + "_activation").in(x).output();
      if (model.training() && options_.dropout > 0) x = belay::ops::dropout(x, options_.dropout, name + "_dropout");
    }
    belay::ops::DenseOptions out;
    out.name = "logits";
    head.add(model, belay::ops::dense(x, head.units(), out));
  }

 private:
  Options options_;
};

}  // namespace

BELAY_MODULE("1.0.0", Mlp)
