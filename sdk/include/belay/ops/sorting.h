// SPDX-License-Identifier: Apache-2.0
// The largest elements of rows, and sums along an axis.
#pragma once

#include <string_view>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

struct TopK {
  Output values;
  Output indices;  // int32, along the last dimension
};
// The k largest elements along the last dimension, in falling order; of equal ones the first one first, NaN before all.
inline TopK top_k(const Output& x, std::int64_t k, std::string_view name = {}) {
  const Output values = x.graph().node("TopK", name).in(x).attr("k", k).output();
  return {values, values.sibling(1)};
}
// Whether fewer than k predictions of a row are larger than that of its target. predictions [n, classes], targets [n]
// int32 or int64. False where a prediction is not finite or the target is no class.
inline Output in_top_k(const Output& predictions, const Output& targets, std::int64_t k, std::string_view name = {}) {
  return predictions.graph().node("InTopK", name).in(predictions).in(targets).attr("k", k).output();
}
// The sum of the elements up to each one along the axis. exclusive: without itself; reverse: from the end.
inline Output cumsum(const Output& x, std::int64_t axis = 0, bool exclusive = false, bool reverse = false,
                     std::string_view name = {}) {
  return x.graph()
      .node("Cumsum", name)
      .in(x)
      .attr("axis", axis)
      .attr("exclusive", exclusive)
      .attr("reverse", reverse)
      .output();
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
