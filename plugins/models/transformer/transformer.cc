// SPDX-License-Identifier: Apache-2.0
// A language model of characters (or other ids), like GPT: embeddings of id and place, decoder layers, and a dense
// layer to the logits of the next id at every place. The decoder layers normalize first and have a causal mask.
#include <belay/heads.h>
#include <belay/ops/attention.h>
#include <belay/ops/embedding.h>
#include <belay/ops/matmul.h>
#include <belay/ops/normalization.h>
#include <belay/ops/random.h>
#include <belay/plugin.h>

#include <cmath>
#include <string>

namespace {

namespace ops = belay::ops;
using belay::Output;

class Transformer final : public belay::Model {
 public:
  struct Options {
    std::int64_t vocabulary = 0;
    std::int64_t layers = 2;
    std::int64_t heads = 4;
    std::int64_t width = 128;
    std::int64_t feed_forward = 512;
    double dropout = 0;
  };
  static constexpr auto about = belay::about(
      "transformer",
      "A language model of ids [batch, time], with causal attention, that predicts the next id at each place",
      belay::option("vocabulary", &Options::vocabulary, "number of ids; 0 means as many as the input declares")
          .range(0, 1e9),
      belay::option("layers", &Options::layers, "number of decoder layers").range(1, 1000),
      belay::option("heads", &Options::heads, "number of attention heads, which must divide 'width'").range(1, 1e4),
      belay::option("width", &Options::width, "length of the vector for each place between the layers").range(1, 1e6),
      belay::option("feed_forward", &Options::feed_forward,
                    "number of units between the two dense layers of each decoder layer")
          .range(1, 1e6),
      belay::option("dropout", &Options::dropout,
                    "share that is set to 0 in training, of the embeddings and of each half layer's output")
          .range(0, 0.999));

  explicit Transformer(const Options& options) : options_(options) {
    if (options.width % options.heads != 0)
      belay::fail(belay::Code::kInvalidArgument, "'heads' is " + std::to_string(options.heads) +
                                                     ", must divide 'width', which is " +
                                                     std::to_string(options.width));
  }

  void build(belay::ModelContext& model) override {
    const belay::Sequences in = belay::sequence_feature(model, options_.vocabulary);
    const belay::Graph g = model.graph();
    ops::EmbeddingOptions table;
    table.initializer = small_normal;
    const Output places = ops::variable(g, "places", small_normal(g, {in.time, options_.width}, table.dtype));
    // The matrix has one row for each place of each example, since the dense layers need a matrix.
    const Output embedded = ops::add(ops::embedding(in.ids, in.vocabulary, options_.width, table), places);
    Output x = dropped(model, ops::reshape(embedded, {-1, options_.width}));
    for (std::int64_t i = 1; i <= options_.layers; ++i) x = layer(model, x, in.time, "layer_" + std::to_string(i));
    ops::LayerNormOptions last;
    last.name = "last_norm";
    ops::DenseOptions out;
    out.name = "logits";
    out.kernel_initializer = small_normal;
    const Output logits = ops::dense(ops::layer_norm(x, last), in.vocabulary, out);
    belay::add_head(model, ops::reshape(logits, {-1, in.time, in.vocabulary}), "classification");
  }

 private:
  static Output small_normal(const belay::Graph& g, const belay::Dims& dims, belay::DType dtype) {
    return ops::random_normal(g, dims, 0, 0.02, dtype);
  }
  Output dropped(const belay::ModelContext& model, const Output& x) const {
    return model.training() && options_.dropout > 0 ? ops::dropout(x, options_.dropout) : x;
  }
  // `x` and the result are [batch * time, width].
  Output layer(const belay::ModelContext& model, const Output& x, std::int64_t time, const std::string& name) const {
    const auto scope = model.graph().scope(name);
    ops::LayerNormOptions norm;
    ops::DenseOptions dense;
    // The addend of each layer begins small, so that the sum over the layers does.
    const double stddev = 0.02 / std::sqrt(2.0 * static_cast<double>(options_.layers));
    const auto adding = [stddev](const belay::Graph& g, const belay::Dims& dims, belay::DType dtype) {
      return ops::random_normal(g, dims, 0, stddev, dtype);
    };

    norm.name = "attention_norm";
    dense.name = "qkv", dense.kernel_initializer = small_normal;
    const Output qkv = ops::dense(ops::layer_norm(x, norm), 3 * options_.width, dense);
    ops::AttentionOptions attention;
    attention.heads = options_.heads, attention.causal = true;
    const Output seen = ops::self_attention(ops::reshape(qkv, {-1, time, 3 * options_.width}), attention);
    dense.name = "attention_output", dense.kernel_initializer = adding;
    const Output after =
        ops::add(x, dropped(model, ops::dense(ops::reshape(seen, {-1, options_.width}), options_.width, dense)));

    norm.name = "feed_forward_norm";
    dense.name = "feed_forward", dense.kernel_initializer = small_normal;
    const Output inner = ops::gelu(ops::dense(ops::layer_norm(after, norm), options_.feed_forward, dense), true);
    dense.name = "feed_forward_output", dense.kernel_initializer = adding;
    return ops::add(after, dropped(model, ops::dense(inner, options_.width, dense)));
  }

  Options options_;
};

}  // namespace

BELAY_MODULE("1.0.0", Transformer)
