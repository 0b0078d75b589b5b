// SPDX-License-Identifier: Apache-2.0
// A convolutional network: convolutions, each with an activation and pooling, then dense layers and a head.
#include <belay/heads.h>
#include <belay/ops/convolution.h>
#include <belay/ops/matmul.h>
#include <belay/ops/pooling.h>
#include <belay/ops/random.h>
#include <belay/plugin.h>

#include <string>

namespace {

constexpr std::int64_t kFilters[] = {32, 64};
constexpr std::int64_t kDense[] = {1024};

belay::ops::Activation activation_of(std::string_view name) {
  using belay::ops::Activation;
  if (name == "relu") return Activation::kRelu;
  if (name == "sigmoid") return Activation::kSigmoid;
  return Activation::kTanh;
}

class Cnn final : public belay::Model {
 public:
  struct Options {
    belay::List<std::int64_t> image = {};
    belay::List<std::int64_t> filters = kFilters;
    std::int64_t kernel_size = 5;
    belay::Str padding = "SAME";
    std::int64_t pool = 2;
    belay::List<std::int64_t> dense = kDense;
    belay::Str activation = "relu";
    double dropout = 0.4;
    belay::Str data_format = "NHWC";
    belay::Str task = "auto";
    std::int64_t classes = 0;
  };
  static constexpr auto about = belay::about(
      "cnn", "A convolutional network for images",
      belay::option(
          "image", &Options::image,
          "shape of an example: height, width and, unless it is 1, channels; if empty, the shape of the feature")
          .range(1, 1e6),
      belay::option("filters", &Options::filters, "number of filters of each convolution").range(1, 1e6),
      belay::option("kernel_size", &Options::kernel_size, "height and width of each filter").range(1, 1e3),
      belay::option("padding", &Options::padding,
                    "SAME: padded so that strides of 1 keep height and width; VALID: nothing is padded")
          .choices("SAME", "VALID"),
      belay::option("pool", &Options::pool,
                    "height and width of the max pooling windows after each convolution; 1 means no pooling")
          .range(1, 1e3),
      belay::option("dense", &Options::dense, "number of units of each dense layer after the convolutions")
          .range(1, 1e9),
      belay::option("activation", &Options::activation, "activation of the convolutions and dense layers")
          .choices("relu", "sigmoid", "tanh"),
      belay::option("dropout", &Options::dropout, "share of each dense layer's outputs that is set to 0 in training")
          .range(0, 0.999),
      belay::option("data_format", &Options::data_format, "order of the dimensions to compute in; NHWC is faster")
          .choices("NHWC", "NCHW"),
      belay::option("task", &Options::task, "task of the model; auto: the type of the label decides")
          .choices("auto", "classification", "regression"),
      belay::option("classes", &Options::classes, "number of classes; 0 means as many as the input declares, else 10")
          .range(0, 1e9));

  explicit Cnn(const Options& options) : options_(options) {}

  void build(belay::ModelContext& model) override {
    belay::Output x = belay::image_feature(model, belay::Dims(options_.image.begin(), options_.image.end()));
    if (options_.data_format == "NCHW") x = belay::ops::transpose(x, {0, 3, 1, 2}, "nchw");
    x = belay::ops::flatten(convolutions(x));
    for (std::size_t i = 0; i < options_.dense.size(); ++i) {
      const std::string name = "dense_" + std::to_string(i + 1);
      belay::ops::DenseOptions layer;
      layer.activation = activation_of(options_.activation);
      layer.name = name;
      x = belay::ops::dense(x, options_.dense[i], layer);
      if (model.training() && options_.dropout > 0) x = belay::ops::dropout(x, options_.dropout, name + "_dropout");
    }
    belay::ops::DenseOptions out;
    out.name = "logits";
    const std::int64_t units = belay::head_units(model, options_.task, options_.classes);
    belay::add_head(model, belay::ops::dense(x, units, out), options_.task);
  }

 private:
  belay::Output convolutions(belay::Output x) const {
    belay::ops::PoolOptions pool;
    pool.data_format = options_.data_format;
    for (std::size_t i = 0; i < options_.filters.size(); ++i) {
      const std::string number = std::to_string(i + 1), name = "conv_" + number;
      belay::ops::Conv2dOptions layer;
      layer.window.padding = options_.padding;
      layer.window.data_format = options_.data_format;
      layer.activation = activation_of(options_.activation);
      layer.name = name;
      x = belay::ops::conv2d(x, options_.filters[i], options_.kernel_size, layer);
      if (options_.pool > 1) x = belay::ops::max_pool2d(x, options_.pool, pool, "pool_" + number);
    }
    return x;
  }

  Options options_;
};

}  // namespace

BELAY_MODULE("1.0.0", Cnn)
