// SPDX-License-Identifier: Apache-2.0
// The largest elements of rows, and sums along an axis. Rows are the last dimension; the dimensions before it stay.
//
//   const ops::TopK best = ops::top_k(logits, 5);     logits [batch, classes] -> values, indices [batch, 5]
#pragma once

#include <string_view>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

// The result of top_k: both are [..., k] for an x [..., n].
struct TopK {
  Output values;
  Output indices;  // int32, along the last dimension
};
// The k largest elements along the last dimension, in falling order. Equal ones keep their order, and NaN comes first.
// Numbers only. The gradient passes through the values to their sources; it has no gradient itself. It costs about n
// log k for each row of n. INVALID_ARGUMENT: k is not in [0, size of that dimension].
inline TopK top_k(const Output& x, std::int64_t k, std::string_view name = {}) {
  const Output values = x.graph().node("TopK", name).in(x).attr("k", k).output();
  return {values, values.sibling(1)};
}
// bool [n]: true if fewer than k predictions of a row are larger than that of its target. So ties count for the target
// (tf.nn.in_top_k). predictions [n, classes] floats, targets [n] int32 or int64. It is false if a prediction is not
// finite or the target is out of range. It has no gradient.
//
//   ops::reduce_mean(ops::cast(ops::in_top_k(logits, labels, 5), DType::kFloat32))      top-5 accuracy of a batch
inline Output in_top_k(const Output& predictions, const Output& targets, std::int64_t k, std::string_view name = {}) {
  return predictions.graph().node("InTopK", name).in(predictions).in(targets).attr("k", k).output();
}
// The sum of the elements up to each element along the axis (negative: from the last), in the shape of x; numbers.
// exclusive: without the element itself; reverse: from the end. [1, 2, 3] becomes [1, 3, 6]; exclusive [0, 1, 3];
// reverse [6, 5, 3]. The gradient is the running sum in the other direction.
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
