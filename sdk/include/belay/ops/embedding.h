// SPDX-License-Identifier: Apache-2.0
// Slices of a tensor picked by indices, and the embedding layer.
//
//   const Output x = ops::embedding(ids, vocabulary, 64);   ids [batch, time] -> [batch, time, 64]
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "belay/graph.h"
#include "belay/ops/defaults.h"
#include "belay/ops/random.h"
#include "belay/ops/variables.h"

namespace belay {
inline namespace v0 {
namespace ops {

// Returns the slices of params along `axis` that the indices (int32 or int64) name. The dimensions of the indices
// replace that dimension. params [10, 4] and indices [2, 3] make [2, 3, 4]; along axis 1 they make [10, 2, 3]. Any
// dtype but string. An index outside [0, size) ends the run with INVALID_ARGUMENT; negative ones do not count from the
// end.
//
// The gradient of params (floats) is dense, of the size of params: zeros plus the incoming slices at the indices.
// Slices of one index are added in their order, so the number of threads changes no bit. If only gathers along the
// first dimension read a variable, most optimizers take these slices instead (belay/optimizer.h). Then a step does not
// compute the dense gradient.
inline Output gather(const Output& params, const Output& indices, std::int64_t axis = 0, std::string_view name = {}) {
  return params.graph().node("Gather", name).in(params).in(indices).attr("axis", axis).output();
}

// Adds slices to a variable of numbers at the indices (int32 or int64) along its first dimension. Returns the
// variable's value after the run's writes. `slices` has the dimensions of the indices, then those of the variable after
// its first. An index outside ends the run with INVALID_ARGUMENT, before any write. It has no gradient.
inline Output scatter_add(const Output& variable, const Output& indices, const Output& slices,
                          std::string_view name = {}) {
  return variable.graph().node("ScatterAdd", name).in(variable).in(indices).in(slices).output();
}

// Options of an embedding.
struct EmbeddingOptions {
  // Dtype of the table: float32 or float64.
  DType dtype = detail_defaults::value(&EmbeddingOptions::dtype, DType::kFloat32);
  // Called once with graph, dims [entries, width] and dtype. Empty: normal with stddev 1 / sqrt(width), for vectors of
  // length about 1.
  std::function<Output(const Graph&, const Dims&, DType)> initializer =
      detail_defaults::value(&EmbeddingOptions::initializer, nullptr);
  // The scope of the variable.
  std::string_view name = "embedding";
};

// A trainable vector of `width` numbers for each id in [0, entries): the variable "<name>/table" [entries, width]. ids
// (int32 or int64) of dimensions [...] make [..., width]. To share one table between two places, make the variable and
// gather from it twice:
//
//   const Output table = ops::variable(g, "words", ops::random_normal(g, {10000, 64}, 0, 0.125));
//   const Output a = ops::gather(table, questions), b = ops::gather(table, answers);
inline Output embedding(const Output& ids, std::int64_t entries, std::int64_t width,
                        const EmbeddingOptions& options = {}) {
  if (entries < 1 || width < 1)
    fail(Code::kInvalidArgument, "embedding '" + std::string(options.name) +
                                     "': entries and width must be at least 1, got " + std::to_string(entries) +
                                     " and " + std::to_string(width));
  const Graph g = ids.graph();
  const auto scope = g.scope(options.name);
  const Dims dims{entries, width};
  const Output initial = options.initializer
                             ? options.initializer(g, dims, options.dtype)
                             : random_normal(g, dims, 0, 1 / std::sqrt(static_cast<double>(width)), options.dtype);
  return gather(variable(g, "table", initial), ids);
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
