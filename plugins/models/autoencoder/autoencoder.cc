// SPDX-License-Identifier: Apache-2.0
// An autoencoder: dense layers narrow the features down to a code, and the same layers in reverse rebuild the features.
// It ignores labels.
#include <belay/heads.h>
#include <belay/ops/matmul.h>
#include <belay/ops/metrics.h>
#include <belay/plugin.h>

#include <string>

namespace {

namespace ops = belay::ops;
using belay::Output;

constexpr std::int64_t kHidden[] = {128};

class Autoencoder final : public belay::Model {
 public:
  struct Options {
    belay::List<std::int64_t> hidden = kHidden;
    std::int64_t code = 32;
    belay::Str activation = "relu";
    belay::Str loss = "mean_squared_error";
  };
  static constexpr auto about = belay::about(
      "autoencoder", "Encodes the features into a short code by dense layers, and decodes it",
      belay::option("hidden", &Options::hidden,
                    "number of units of each hidden layer of the encoder; the decoder has them in reverse order")
          .range(1, 1e9),
      belay::option("code", &Options::code, "length of the code").range(1, 1e9),
      belay::option("activation", &Options::activation, "activation of the hidden layers; the code has none")
          .choices("relu", "sigmoid", "tanh"),
      belay::option("loss", &Options::loss,
                    "loss of the reconstruction; sigmoid_cross_entropy is for features from 0 to 1, such as pixels")
          .choices("mean_squared_error", "sigmoid_cross_entropy"));

  explicit Autoencoder(const Options& options) : options_(options) {}

  void build(belay::ModelContext& model) override {
    const Output features = belay::feature_matrix(model);
    const Output code = encode(features);
    const Output last = decode(code, features.dim(1));
    const bool probabilities = options_.loss == "sigmoid_cross_entropy";
    const Output reconstruction = probabilities ? ops::sigmoid(last) : last;
    model.prediction("reconstruction", reconstruction);
    model.prediction("code", code);
    if (model.mode() == belay::Mode::kPredict) return;
    const Output error = ops::mean_squared_error(reconstruction, features, "mean_squared_error");
    model.loss(probabilities ? ops::sigmoid_cross_entropy(last, features, "loss") : error);
    if (model.mode() == belay::Mode::kEval) {
      const ops::Metric whole = ops::metrics::mean_squared_error(features, reconstruction, {}, "reconstruction_error");
      model.metric("reconstruction_error", whole.value, whole.update);
    } else {
      model.metric("reconstruction_error", error);
    }
  }

 private:
  Output hidden(const Output& x, std::int64_t units, const std::string& name) const {
    ops::DenseOptions layer;
    layer.name = name;
    layer.activation = ops::activation_named(options_.activation);
    return ops::dense(x, units, layer);
  }
  static Output linear(const Output& x, std::int64_t units, const char* name) {
    ops::DenseOptions layer;
    layer.name = name;
    return ops::dense(x, units, layer);
  }

  Output encode(Output x) const {
    for (std::size_t i = 0; i < options_.hidden.size(); ++i)
      x = hidden(x, options_.hidden[i], "encoder_" + std::to_string(i + 1));
    return linear(x, options_.code, "code");
  }
  Output decode(Output x, std::int64_t columns) const {
    for (std::size_t i = options_.hidden.size(); i-- > 0;)
      x = hidden(x, options_.hidden[i], "decoder_" + std::to_string(i + 1));
    return linear(x, columns, "reconstruction");
  }

  const Options options_;
};

}  // namespace

BELAY_MODULE("1.0.0", Autoencoder)
