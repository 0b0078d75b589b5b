// SPDX-License-Identifier: Apache-2.0
// Converts tensors that another program stored in another layout or type.
#pragma once

#include <belay/options.h>
#include <belay/tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "../name_patterns.h"

namespace warm_start {

// Does numpy.transpose: dimension i of the result is dimension axes[i] of the tensor. `axes` is a permutation as long
// as the tensor's rank. Any numeric dtype is allowed.
belay::Tensor transposed(const belay::Tensor& tensor, const std::vector<std::int64_t>& axes);

// Converts a floating-point tensor to float32 or float64, rounded to nearest.
belay::Tensor as_dtype(const belay::Tensor& tensor, belay::DType dtype);
// True if as_dtype can convert.
bool can_convert(belay::DType from, belay::DType to);

// The option `transpose`: a list of { vars = [...], axes = [1, 0] }.
class Transposes {
 public:
  // INVALID_ARGUMENT: axes are no permutation.
  explicit Transposes(const belay::Table& table);

  // Returns the axes for this variable's tensor of that rank, by the first matching entry. None: no entry matches.
  // INVALID_ARGUMENT: the axes have another rank.
  std::optional<std::vector<std::int64_t>> axes_for(const std::string& variable, std::size_t rank);
  // Returns a sentence for each pattern that matched no name.
  std::vector<std::string> unused() const;

 private:
  struct Entry {
    std::string place;
    init_fns::NamePatterns vars;
    std::vector<std::int64_t> axes;  // empty: swaps the two of a matrix
  };
  std::vector<Entry> entries_;
};

}  // namespace warm_start
