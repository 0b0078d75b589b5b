// SPDX-License-Identifier: Apache-2.0
// How element-wise operations walk over operands of different shapes, by numpy's rule: shapes are aligned at their last
// dimension, and a dimension of 1 (or a missing one) is repeated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/graph/kernel.h"

namespace belay::runtime {

// Up to three operands and the result as blocks of rows of `inner` elements, neighbouring dimensions merged where all
// operands allow it. Within a row an operand's elements are contiguous, or it has one for the whole row.
class BroadcastPlan {
 public:
  static constexpr std::size_t kMaxOperands = 3;
  // Throws where an operand does not broadcast to `result`.
  BroadcastPlan(const std::vector<const Dims*>& operands, const Dims& result);

  std::int64_t inner() const noexcept { return inner_.size; }
  std::int64_t rows() const noexcept { return rows_; }  // of all blocks
  bool contiguous(std::size_t operand) const noexcept { return inner_.stride[operand] != 0; }
  std::int64_t row_stride(std::size_t operand) const noexcept { return row_.stride[operand]; }

  // Calls f(offsets, first_row, rows) for runs of rows in [begin, end) that lie in one block: operand i's first row
  // is at offsets[i], each next one row_stride(i) further.
  template <class F>
  void for_each_run(std::int64_t begin, std::int64_t end, F&& f) const {
    while (begin < end) {
      const std::int64_t in_block = begin % row_.size;
      const std::int64_t n = end - begin < row_.size - in_block ? end - begin : row_.size - in_block;
      f(offsets(begin / row_.size, in_block), begin, n);
      begin += n;
    }
  }

 private:
  using Offsets = std::array<std::int64_t, kMaxOperands>;
  struct Dim {
    std::int64_t size = 1;
    Offsets stride{};
  };
  Offsets offsets(std::int64_t block, std::int64_t row) const noexcept;

  Dim inner_;
  Dim row_;
  std::vector<Dim> blocks_;  // the innermost first
  std::int64_t rows_ = 1;
};

// The gradient of input i of an operation that broadcasts: `grad` has the output's shape and is summed to the input's.
Output sum_to_input(const GradContext& c, std::size_t i, const Output& grad);

// The shape rule of operations that broadcast all their inputs from `first` on.
Shape broadcast_inputs(const InferContext& c, std::size_t first = 0);

}  // namespace belay::runtime
