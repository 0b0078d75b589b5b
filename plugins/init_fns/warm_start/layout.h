// SPDX-License-Identifier: Apache-2.0
// Tensors that another program laid out or stored in another way.
#pragma once

#include <belay/options.h>
#include <belay/tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../name_patterns.h"

namespace warm_start {

// numpy.transpose: dimension i of the result is dimension axes[i] of the tensor. `axes` is a permutation, as long as
// the tensor's rank. Of any numeric dtype.
belay::Tensor transposed(const belay::Tensor& tensor, const std::vector<std::int64_t>& axes);

// Elements of a floating-point tensor as float32 or float64, rounded to nearest.
belay::Tensor as_dtype(const belay::Tensor& tensor, belay::DType dtype);
// Whether as_dtype can.
bool can_convert(belay::DType from, belay::DType to);

// The option `transpose`: a list of { vars = [...], axes = [1, 0] }.
class Transposes {
 public:
  // INVALID_ARGUMENT for axes that are no permutation.
  explicit Transposes(const belay::Table& table);

  // The axes for this variable's tensor, of that rank, by the first entry that matches; nothing where none does.
  // INVALID_ARGUMENT where they are of another rank.
  std::optional<std::vector<std::int64_t>> axes_for(const std::string& variable, std::size_t rank);
  // A sentence for each pattern that no name was matched with.
  std::vector<std::string> unused() const;

 private:
  struct Entry {
    std::string place;
    init_fns::NamePatterns vars;
    std::vector<std::int64_t> axes;  // empty: the two of a matrix
  };
  std::vector<Entry> entries_;
};

}  // namespace warm_start
