// SPDX-License-Identifier: Apache-2.0
// A small residual network: a convolution, stages of blocks that add to their input, the mean of each channel, then a
// head. Each stage after the first halves height and width and has twice the filters.
#include <belay/heads.h>
#include <belay/ops/convolution.h>
#include <belay/ops/matmul.h>
#include <belay/ops/normalization.h>
#include <belay/ops/pooling.h>
#include <belay/ops/random.h>
#include <belay/plugin.h>

#include <string>

namespace {

using belay::Output;

constexpr std::int64_t kBlocks[] = {2, 2, 2};

class Resnet final : public belay::Model {
 public:
  struct Options {
    belay::List<std::int64_t> image = {};
    belay::List<std::int64_t> blocks = kBlocks;
    std::int64_t filters = 16;
    double momentum = 0.9;
    belay::Str task = "auto";
    std::int64_t classes = 0;
  };
  static constexpr auto about = belay::about(
      "resnet", "A small residual network for images",
      belay::option(
          "image", &Options::image,
          "shape of an example: height, width and, unless it is 1, channels; if empty, the shape of the feature")
          .range(1, 1e6),
      belay::option("blocks", &Options::blocks, "number of residual blocks in each stage; a block has two convolutions")
          .range(1, 1e3)
          .example(1, 1),
      belay::option("filters", &Options::filters, "number of filters in the first stage").range(1, 1e6),
      belay::option("momentum", &Options::momentum, "share of its moving averages that a batch norm keeps at each step")
          .range(0, 1),
      belay::option("task", &Options::task, "task of the model; auto: the type of the label decides")
          .choices("auto", "classification", "regression"),
      belay::option("classes", &Options::classes, "number of classes; 0 means as many as the input declares, else 10")
          .range(0, 1e9));

  explicit Resnet(const Options& options) : options_(options) {}

  void build(belay::ModelContext& model) override {
    const bool training = model.training();
    Output x = belay::image_feature(model, belay::Dims(options_.image.begin(), options_.image.end()));
    x = belay::ops::relu(normalized(x, options_.filters, 3, 1, "first", training));
    std::int64_t filters = options_.filters;
    for (std::size_t s = 0; s < options_.blocks.size(); ++s, filters *= 2)
      for (std::int64_t b = 0; b < options_.blocks[s]; ++b) {
        const auto scope = model.graph().scope("stage_" + std::to_string(s + 1) + "_block_" + std::to_string(b + 1));
        x = block(x, filters, s > 0 && b == 0 ? 2 : 1, training);
      }
    x = belay::ops::global_avg_pool2d(x);
    belay::ops::DenseOptions out;
    out.name = "logits";
    const std::int64_t units = belay::head_units(model, options_.task, options_.classes);
    belay::add_head(model, belay::ops::dense(x, units, out), options_.task);
  }

 private:
  // A convolution without bias. The batch norm after it would remove a bias again.
  Output normalized(const Output& x, std::int64_t filters, std::int64_t size, std::int64_t stride,
                    const std::string& name, bool training) const {
    belay::ops::Conv2dOptions layer;
    layer.window.strides = stride;
    layer.window.padding = "SAME";
    layer.kernel_initializer = [](const belay::Graph& g, const belay::Dims& dims, belay::DType dtype) {
      return belay::ops::he_normal(g, dims, dtype);
    };
    layer.use_bias = false;
    const std::string conv = name + "_conv", norm = name + "_norm";
    layer.name = conv;
    belay::ops::BatchNormOptions options;
    options.momentum = options_.momentum;
    options.name = norm;
    return belay::ops::batch_norm(belay::ops::conv2d(x, filters, size, layer), training, options);
  }

  // Computes relu(x + two convolutions of x). If the shapes differ, x goes through a separate convolution.
  Output block(const Output& x, std::int64_t filters, std::int64_t stride, bool training) const {
    const Output inner = belay::ops::relu(normalized(x, filters, 3, stride, "a", training));
    const Output added = normalized(inner, filters, 3, 1, "b", training);
    const bool same = stride == 1 && x.dim(3) == filters;
    return belay::ops::relu(added + (same ? x : normalized(x, filters, 1, stride, "shortcut", training)));
  }

  Options options_;
};

}  // namespace

BELAY_MODULE("1.0.0", Resnet)
