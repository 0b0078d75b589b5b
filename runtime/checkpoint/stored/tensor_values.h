// SPDX-License-Identifier: Apache-2.0
// Facts about a tensor's elements: statistics, the difference of two tensors, one element as text. It takes numbers and
// bools of every stored type. [any thread]
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "belay/tensor.h"

namespace belay::runtime {

// Statistics of the finite elements.
struct TensorStatistics {
  std::uint64_t non_finite = 0;
  // The indices of the smallest and the largest element, the first of equal ones. None: no element is finite.
  std::optional<std::uint64_t> min_at, max_at;
  double mean = 0;
};
TensorStatistics statistics_of(const TensorView& tensor);

// The difference of two tensors of one type and shape. Their bits are compared: a zero and a negative zero differ, by
// 0.
struct TensorDifference {
  std::uint64_t count = 0;  // elements that differ
  std::uint64_t first = 0;  // the first of them
  // a - b|. It is NaN, the largest difference, if one of the two is no number or they are infinite.
  double largest = 0;
  std::uint64_t largest_at = 0;
};
TensorDifference difference_of(const TensorView& a, const TensorView& b);

// Returns as many digits as the element needs to read back the same: "0.1", "-9007199254740993", "true", "nan".
std::string element_text(const TensorView& tensor, std::uint64_t element);
// Element 5 of [2, 3] is "[1, 2]"; of a scalar "[]".
std::string position_text(const TensorView& tensor, std::uint64_t element);

}  // namespace belay::runtime
