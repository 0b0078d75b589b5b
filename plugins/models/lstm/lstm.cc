// SPDX-License-Identifier: Apache-2.0
// A language model of characters (or other ids): an embedding, LSTM layers and a dense layer to the logits of the next
// id at every place. While training, dropout follows each LSTM layer. Each batch begins with states of 0.
#include <belay/heads.h>
#include <belay/ops/embedding.h>
#include <belay/ops/matmul.h>
#include <belay/ops/random.h>
#include <belay/ops/recurrent.h>
#include <belay/plugin.h>

#include <string>

namespace {

class Lstm final : public belay::Model {
 public:
  struct Options {
    std::int64_t vocabulary = 0;
    std::int64_t embedding = 64;
    std::int64_t hidden = 256;
    std::int64_t layers = 1;
    double dropout = 0;
  };
  static constexpr auto about = belay::about(
      "lstm",
      "A language model of ids [batch, time], with an embedding and LSTM layers, that predicts the next id at each "
      "place",
      belay::option("vocabulary", &Options::vocabulary, "number of ids; 0 means as many as the input declares")
          .range(0, 1e9),
      belay::option("embedding", &Options::embedding, "length of the vector for each id").range(1, 1e6),
      belay::option("hidden", &Options::hidden, "number of units of each LSTM layer").range(1, 1e6),
      belay::option("layers", &Options::layers, "number of LSTM layers").range(1, 100),
      belay::option("dropout", &Options::dropout, "share of each LSTM layer's outputs that is set to 0 in training")
          .range(0, 0.999));

  explicit Lstm(const Options& options) : options_(options) {}

  void build(belay::ModelContext& model) override {
    const belay::Sequences in = belay::sequence_feature(model, options_.vocabulary);
    belay::Output x = belay::ops::embedding(in.ids, in.vocabulary, options_.embedding);
    for (std::int64_t i = 1; i <= options_.layers; ++i) {
      const std::string name = "lstm_" + std::to_string(i);
      belay::ops::LstmOptions layer;
      layer.name = name;
      x = belay::ops::lstm(x, options_.hidden, layer).y;
      if (model.training() && options_.dropout > 0) x = belay::ops::dropout(x, options_.dropout, name + "_dropout");
    }
    belay::ops::DenseOptions out;
    out.name = "logits";
    belay::add_head(model, belay::ops::dense_last(x, in.vocabulary, out), "classification");
  }

 private:
  Options options_;
};

}  // namespace

BELAY_MODULE("1.0.0", Lstm)
