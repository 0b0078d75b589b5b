// SPDX-License-Identifier: Apache-2.0
// The standard deviation by which numbers are scaled, for all inputs and models.
#pragma once

#include <cmath>
#include <limits>

namespace belay {
inline namespace v0 {

// Returns the standard deviation of n numbers with this mean, from the sum of their squared distances to it. It divides
// by n. If the numbers are equal it returns 1, so that a division keeps them. A mean such as that of many 0.1 is
// rounded, so equal numbers have distances up to about n * epsilon * |mean|. What is within that counts as equal, as in
// scikit-learn's StandardScaler.
inline double deviation_or_1(double squares, double n, double mean) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  const double variance = squares / n, rounding = n * mean * kEpsilon;
  return variance > n * kEpsilon * variance + rounding * rounding ? std::sqrt(variance) : 1;
}

}  // namespace v0
}  // namespace belay
