// SPDX-License-Identifier: Apache-2.0
// Attention (Vaswani et al. 2017), of float32 or float64.
//
//   const Output y = ops::multi_head_attention(x, {.heads = 4, .causal = true});   x and y [batch, time, width]
//   const Output y = ops::attention(query, key, value, {.heads = 8, .mask = hidden});
//
// The matrix of weights [queries, keys] never exists as a whole: the kernel works on 64 queries at a time. The gradient
// computes the weights again from the logarithm of each row's sum (sibling(1) of the result). So memory grows with the
// length of the sequences, not with its square. It can be differentiated once, with respect to query, key and value.
#pragma once

#include <string>
#include <string_view>

#include "belay/graph.h"
#include "belay/ops/defaults.h"
#include "belay/ops/matmul.h"

namespace belay {
inline namespace v0 {
namespace ops {

// Options of the step from scores to weights.
struct AttentionOptions {
  // Number of heads. The last dimensions are cut into this number of parts, and each part attends alone. It must divide
  // them.
  std::int64_t heads = detail_defaults::value(&AttentionOptions::heads, 1);
  // If true, a query sees the keys up to its own place. If there are more keys than queries, the last query sees all.
  // INVALID_ARGUMENT: more queries than keys.
  bool causal = detail_defaults::value(&AttentionOptions::causal, false);
  // Added to the scores before softmax, of their dtype: [queries, keys], or [batch, queries, keys]; empty: no mask.
  // -infinity hides a key. A query without a visible key becomes NaN. The mask has no gradient.
  Output mask = {};
  // Factor of the scores before the mask; 0: 1 / sqrt(width of a head).
  double scale = detail_defaults::value(&AttentionOptions::scale, 0);
  // The scope of multi_head_attention's variables.
  std::string_view name = "attention";
};

namespace detail_attention {
inline Output build(const std::vector<Output>& operands, bool packed, const AttentionOptions& options) {
  NodeBuilder node = operands[0].graph().node("Attention");
  node.in(operands);
  if (options.mask) node.in(options.mask);
  return node.attr("packed", packed)
      .attr("masked", static_cast<bool>(options.mask))
      .attr("causal", options.causal)
      .attr("heads", options.heads)
      .attr("scale", options.scale)
      .output();
}
}  // namespace detail_attention

// softmax(query key^T * scale + mask) value, for each head. query [batch, queries, width], key [batch, keys, width],
// value [batch, keys, value width] -> [batch, queries, value width].
inline Output attention(const Output& query, const Output& key, const Output& value,
                        const AttentionOptions& options = {}) {
  return detail_attention::build({query, key, value}, false, options);
}
// Does the same for one tensor [batch, time, 3 * width] with query, key and value in this order along its last
// dimension. One dense layer computes them so, and no copy is made.
inline Output self_attention(const Output& packed, const AttentionOptions& options = {}) {
  return detail_attention::build({packed}, true, options);
}

// Self-attention as a layer for x [batch, time, width]. A dense layer makes query, key and value; a second dense layer
// returns to the width of x after the attention. Variables "<name>/qkv/kernel" [width, 3 * width], "<name>/qkv/bias",
// "<name>/output/kernel" [width, width], "<name>/output/bias". Width, and one of batch and time, must be known.
// INVALID_ARGUMENT: heads does not divide the width.
//
// A block of a transformer: x = x + ops::multi_head_attention(ops::layer_norm(x), {.heads = 4, .causal = true});
inline Output multi_head_attention(const Output& x, const AttentionOptions& options = {}) {
  if (x.rank() != 3 || x.dim(2) < 0 || options.heads < 1 || x.dim(2) % options.heads != 0)
    fail(Code::kInvalidArgument, "multi_head_attention '" + std::string(options.name) + "': " + x.text() +
                                     " must be [batch, time, width] with a known width that " +
                                     std::to_string(options.heads) + " heads divide");
  const Graph g = x.graph();
  const auto scope = g.scope(options.name);
  DenseOptions dense;
  dense.name = "qkv";
  const Output y = self_attention(dense_last(x, 3 * x.dim(2), dense), options);
  dense.name = "output";
  return dense_last(y, x.dim(2), dense);
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
