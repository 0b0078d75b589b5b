// SPDX-License-Identifier: Apache-2.0
// A stack of layers from the manifest:
//
//   [model]
//   plugin = "sequential"
//   layers = [
//     { type = "reshape", shape = [28, 28, 1] },
//     { type = "conv", filters = 32, size = 5, padding = "SAME", activation = "relu" },
//     { type = "max_pool", size = 2 },
//     { type = "flatten" },
//     { type = "dense", units = 10 },
//   ]
//   defaults = { conv = { padding = "SAME", activation = "relu" } }     # for layers of a type without these keys
//
// The last layer returns the logits of the classes, or the numbers to predict.
#include <belay/heads.h>
#include <belay/ops/normalization.h>
#include <belay/plugin.h>

#include <map>
#include <string>
#include <vector>

#include "layer_settings.h"
#include "layers.h"

namespace sequential_model {
namespace {

using belay::Code;
using belay::DType;
using belay::fail;
using belay::Output;

using Sizes = belay::List<std::int64_t>;

// Options of a layer, which `defaults` can set for all layers of its type.
constexpr auto activation_at(std::string_view path) {
  return belay::option<belay::Str>(path, "activation of the layer's output")
      .choices("none", "relu", "relu6", "leaky_relu", "elu", "sigmoid", "tanh", "softplus")
      .by_default("none");
}
constexpr auto use_bias_at(std::string_view path) {
  return belay::option<bool>(path, "true: adds a trained constant to each output").by_default(true);
}
constexpr auto strides_at(std::string_view path) {
  return belay::option<Sizes>(path,
                              "strides, as one number or [height, width]; if not set, 1 for a conv, else the size")
      .or_single()
      .min(1);
}
constexpr auto dilations_at(std::string_view path) {
  return belay::option<Sizes>(path, "dilations, as one number or [height, width]; 1 if not set").or_single().min(1);
}
constexpr auto padding_at(std::string_view path) {
  return belay::option<belay::Str>(path,
                                   "SAME: padded so that strides of 1 keep height and width; VALID: nothing is padded")
      .choices("VALID", "SAME")
      .by_default("VALID");
}
constexpr auto rate_at(std::string_view path) {
  return belay::option<double>(path, "share of the values that is set to 0 in training")
      .range(0, 0.999)
      .by_default(0.5);
}
constexpr auto momentum_at(std::string_view path) {
  return belay::option<double>(path, "share of its moving averages that the layer keeps at each step")
      .range(0, 1)
      .by_default(belay::ops::BatchNormOptions().momentum);
}
constexpr auto epsilon_at(std::string_view path, double standard) {
  return belay::option<double>(path, "number that is added to the variance").range(1e-12, 1).by_default(standard);
}
constexpr auto return_sequences_at(std::string_view path) {
  return belay::option<bool>(path, "true: returns the output at each place; false: returns only the last one")
      .by_default(false);
}

class Sequential final : public belay::Model {
 public:
  struct Options {
    belay::Table layers;
    belay::Table defaults;
    belay::Str task = "auto";
  };
  static constexpr auto about = belay::about(
      "sequential", "A stack of layers that the manifest lists",
      belay::option("layers", &Options::layers, "list of tables, one for each layer, from the first to the last")
          .required()
          .example("[{ type = \"dense\", units = 10 }]"),
      belay::option<belay::Str>("layers[].type", "type of the layer")
          .choices("dense", "conv", "max_pool", "avg_pool", "global_avg_pool", "flatten", "reshape", "dropout",
                   "batch_norm", "layer_norm", "activation", "embedding", "lstm", "gru")
          .required(),
      belay::option<belay::Str>("layers[].name",
                                "name of the layer, which its variables begin with; if not set, TYPE_NUMBER"),
      belay::option<std::int64_t>("layers[].units",
                                  "numbers that the layer returns for an example, or for a place of a sequence")
          .min(1)
          .required()
          .when("type", "dense", "lstm", "gru"),
      belay::option<std::int64_t>("layers[].filters", "channels that the layer returns")
          .min(1)
          .required()
          .when("type", "conv"),
      belay::option<Sizes>("layers[].size", "size of the window, as one number or [height, width]")
          .or_single()
          .min(1)
          .required()
          .when("type", "conv", "max_pool", "avg_pool"),
      strides_at("layers[].strides").when("type", "conv", "max_pool", "avg_pool"),
      dilations_at("layers[].dilations").when("type", "conv"),
      padding_at("layers[].padding").when("type", "conv", "max_pool", "avg_pool"),
      activation_at("layers[].activation").when("type", "dense", "conv"),
      use_bias_at("layers[].use_bias").when("type", "dense", "conv"),
      belay::option<Sizes>("layers[].shape", "shape of one example").min(1).required().when("type", "reshape"),
      rate_at("layers[].rate").when("type", "dropout"), momentum_at("layers[].momentum").when("type", "batch_norm"),
      epsilon_at("layers[].epsilon", belay::ops::BatchNormOptions().epsilon).when("type", "batch_norm"),
      epsilon_at("layers[].epsilon", belay::ops::LayerNormOptions().epsilon).when("type", "layer_norm"),
      belay::option<belay::Str>("layers[].function", "activation function to apply to each number")
          .choices("none", "relu", "relu6", "leaky_relu", "elu", "sigmoid", "tanh", "softplus")
          .required()
          .when("type", "activation"),
      belay::option<std::int64_t>("layers[].width", "length of the vector for each id")
          .min(1)
          .required()
          .when("type", "embedding"),
      belay::option<std::int64_t>("layers[].entries", "number of ids; if not set, as many as the input declares")
          .min(1)
          .when("type", "embedding"),
      return_sequences_at("layers[].return_sequences").when("type", "lstm", "gru"),
      belay::option("defaults", &Options::defaults, "table of TYPE = { settings } for the layers that do not set them"),
      activation_at("defaults.dense.activation"), use_bias_at("defaults.dense.use_bias"),
      activation_at("defaults.conv.activation"), use_bias_at("defaults.conv.use_bias"),
      strides_at("defaults.conv.strides"), dilations_at("defaults.conv.dilations"), padding_at("defaults.conv.padding"),
      strides_at("defaults.max_pool.strides"), padding_at("defaults.max_pool.padding"),
      strides_at("defaults.avg_pool.strides"), padding_at("defaults.avg_pool.padding"),
      rate_at("defaults.dropout.rate"), momentum_at("defaults.batch_norm.momentum"),
      epsilon_at("defaults.batch_norm.epsilon", belay::ops::BatchNormOptions().epsilon),
      epsilon_at("defaults.layer_norm.epsilon", belay::ops::LayerNormOptions().epsilon),
      return_sequences_at("defaults.lstm.return_sequences"), return_sequences_at("defaults.gru.return_sequences"),
      belay::option("task", &Options::task, "task of the model; auto: the type of the label decides")
          .choices("auto", "classification", "regression"));

  explicit Sequential(const Options& options) : options_(options) {
    check_types(options.defaults);
    std::map<std::string, int> count;
    for (const LayerSettings& settings : LayerSettings::of_list(options.layers, options.defaults)) {
      const std::string name = settings.type() + "_" + std::to_string(++count[settings.type()]);
      layers_.push_back(make_layer(settings, name));
    }
  }

  void build(belay::ModelContext& model) override {
    Output x = first_input(model);
    const std::int64_t ids = model.features().size() == 1 ? model.feature_classes() : 0;
    for (const Layer& layer : layers_) x = layer.apply({x, model.training(), ids});
    check_last(model, x);
    belay::add_head(model, x, options_.task);
  }

 private:
  // Returns the only feature unchanged, or all features as one matrix.
  Output first_input(const belay::ModelContext& model) const {
    if (model.features().size() != 1) return belay::feature_matrix(model);
    const Output x = model.feature();
    if (layers_.front().takes_ids) return x;
    if (x.rank() < 2 || x.dtype() == DType::kString) return belay::feature_matrix(model);
    return x.dtype() == DType::kFloat32 ? x : belay::ops::cast(x, DType::kFloat32);
  }

  // Checks that the last layer fits the label, as far as the input declares it.
  void check_last(const belay::ModelContext& model, const Output& x) const {
    const std::string& place = layers_.back().place;
    if (x.rank() < 2 || x.dim(-1) < 1)
      fail(Code::kInvalidArgument, place + ": the last layer returns " + x.text() +
                                       "; it must return a known number of values for each example");
    if (model.declared_labels().empty()) return;
    const belay::DeclaredLabel& label = model.declared_label();
    const auto rank = static_cast<std::int32_t>(label.dims.size());
    const bool classes = belay::head_task(model, options_.task) == "classification";
    const bool probabilities = label.dtype == DType::kFloat32 || label.dtype == DType::kFloat64;
    if (classes && !probabilities && rank != x.rank() - 1)
      fail(Code::kInvalidArgument,
           place + ": the last layer returns " + x.text() + ", which does not fit the label " + label.text() +
               (rank < x.rank() - 1 ? "; put { type = \"flatten\" } or an lstm without return_sequences before it"
                                    : "; give the layers before it return_sequences = true"));
    const std::int64_t wanted = classes ? label.classes : rank == 2 ? label.dims[1] : 1;
    if (wanted > 0 && x.dim(-1) != wanted)
      fail(Code::kInvalidArgument, place + ": the last layer returns " + std::to_string(x.dim(-1)) +
                                       " values for each example, the label " + label.text() + " needs " +
                                       std::to_string(wanted) +
                                       "; end with { type = \"dense\", units = " + std::to_string(wanted) + " }");
  }

  const Options options_;
  std::vector<Layer> layers_;
};

}  // namespace
}  // namespace sequential_model

BELAY_MODULE("1.0.0", sequential_model::Sequential)
