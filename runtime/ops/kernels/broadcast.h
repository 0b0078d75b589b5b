// SPDX-License-Identifier: Apache-2.0
// Element-wise operations over operands of different shapes, by numpy's rule: shapes are aligned at their last
// dimension, and a dimension of 1 (or a missing one) is repeated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/graph/kernel.h"

namespace belay::runtime {

// Splits up to three operands and the result into blocks of rows of `inner` elements. Neighbouring dimensions are
// merged if all operands allow it. Within a row, an operand's elements are contiguous, or one element serves the whole
// row.
class BroadcastPlan {
 public:
  static constexpr std::size_t kMaxOperands = 3;
  // Throws if an operand does not broadcast to `result`.
  BroadcastPlan(const std::vector<const Dims*>& operands, const Dims& result);

  std::int64_t inner() const noexcept { return inner_.size; }
  std::int64_t rows() const noexcept { return rows_; }  // of all blocks
  bool contiguous(std::size_t operand) const noexcept { return inner_.stride[operand] != 0; }
  std::int64_t row_stride(std::size_t operand) const noexcept { return row_.stride[operand]; }

  // Calls f(offsets, first_row, rows) for each run of rows in [begin, end) inside a block. Operand i's first row is at
  // offsets[i], and each next one row_stride(i) after it.
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

// Returns the gradient of input i of a broadcasting operation. `grad` has the output's shape and is summed to the
// input's.
Output sum_to_input(const GradContext& c, std::size_t i, const Output& grad);

// Returns the broadcast shape of all inputs from `first` on.
Shape broadcast_inputs(const InferContext& c, std::size_t first = 0);

}  // namespace belay::runtime
