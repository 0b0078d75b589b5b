// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/kernels/broadcast.h"

#include <algorithm>

#include "belay/ops/shape.h"

namespace belay::runtime {

BroadcastPlan::BroadcastPlan(const std::vector<const Dims*>& operands, const Dims& result) {
  // Lists the result's dimensions from the last one, with each operand's stride.
  std::vector<Dim> dims;
  Offsets elements;
  elements.fill(1);
  for (std::size_t i = 0; i < result.size(); ++i) {
    Dim d;
    d.size = result[result.size() - 1 - i];
    for (std::size_t o = 0; o < operands.size(); ++o) {
      const Dims& shape = *operands[o];
      const std::int64_t size = i < shape.size() ? shape[shape.size() - 1 - i] : 1;
      if ((size != 1 && size != d.size) || shape.size() > result.size())
        fail(Code::kInvalidArgument, "shape " + dims_text(shape) + " does not broadcast to " + dims_text(result));
      d.stride[o] = size == 1 ? 0 : elements[o];
      elements[o] *= size;
    }
    if (d.size == 1) continue;
    bool merges = !dims.empty();
    for (std::size_t o = 0; merges && o < operands.size(); ++o)
      merges = d.stride[o] == (dims.back().stride[o] == 0 ? 0 : dims.back().stride[o] * dims.back().size) &&
               (d.stride[o] == 0) == (dims.back().stride[o] == 0);
    if (merges) {
      dims.back().size *= d.size;
    } else {
      dims.push_back(d);
    }
  }
  if (!dims.empty()) inner_ = dims[0];
  if (dims.size() > 1) row_ = dims[1];
  if (dims.size() > 2) blocks_.assign(dims.begin() + 2, dims.end());
  rows_ = row_.size;
  for (const Dim& d : blocks_) rows_ *= d.size;
}

BroadcastPlan::Offsets BroadcastPlan::offsets(std::int64_t block, std::int64_t row) const noexcept {
  Offsets at;
  for (std::size_t o = 0; o < kMaxOperands; ++o) at[o] = row * row_.stride[o];
  for (const Dim& d : blocks_) {
    const std::int64_t i = block % d.size;
    block /= d.size;
    for (std::size_t o = 0; o < kMaxOperands; ++o) at[o] += i * d.stride[o];
  }
  return at;
}

Output sum_to_input(const GradContext& c, std::size_t i, const Output& grad) {
  const Output& x = c.input(i);
  const Dims dims = x.dims();
  const bool known = x.rank() >= 0 && std::all_of(dims.begin(), dims.end(), [](std::int64_t d) { return d >= 0; });
  if (known && grad.rank() == x.rank() && grad.dims() == dims) return grad;
  return ops::sum_like(grad, x);
}

Shape broadcast_inputs(const InferContext& c, std::size_t first) {
  Shape shape = c.shape(first);
  for (std::size_t i = first + 1; i < c.n_inputs(); ++i) {
    bool ok = true;
    shape = broadcast(shape, c.shape(i), ok);
    if (ok) continue;
    std::string text = c.input_text(first);
    for (std::size_t j = first + 1; j < c.n_inputs(); ++j)
      text += (j + 1 == c.n_inputs() ? " and " : ", ") + c.input_text(j);
    c.fail(text + " do not broadcast to one shape");
  }
  return shape;
}

}  // namespace belay::runtime
