// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/text/float32_value.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace belay::runtime {
namespace {

template <class T>
std::string shortest(T value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

}  // namespace

std::string float32_problem(double value, bool has_max, double max) {
  constexpr float kLargest = std::numeric_limits<float>::max(), kSmallest = std::numeric_limits<float>::min();
  const auto single = static_cast<float>(value);
  if (!std::isfinite(value)) return "";
  if (std::isinf(single)) return shortest(value) + ", which is no float32: the largest one is " + shortest(kLargest);
  // Kernels flush denormals (floating_point.h).
  if (value != 0 && std::fabs(single) < kSmallest)
    return shortest(value) + ", which is 0 as a float32: the smallest one above 0 is " + shortest(kSmallest);
  const auto end = static_cast<double>(static_cast<float>(max));
  const bool leaves_end_out = has_max && std::nextafter(end, -std::numeric_limits<double>::infinity()) == max;
  if (leaves_end_out && static_cast<double>(single) >= end)
    return shortest(value) + ", which is " + shortest(end) + " as a float32, must be less: the largest one is " +
           shortest(std::nextafter(static_cast<float>(end), -std::numeric_limits<float>::infinity()));
  return "";
}

}  // namespace belay::runtime
