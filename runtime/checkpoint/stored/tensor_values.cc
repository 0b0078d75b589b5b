// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/stored/tensor_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "belay/error.h"

namespace belay::runtime {
namespace {

struct BFloat16 {
  std::uint16_t bits;
  float number() const noexcept {
    const std::uint32_t wide = std::uint32_t{bits} << 16;
    float f = 0;
    std::memcpy(&f, &wide, sizeof(f));
    return f;
  }
};
struct Half {
  std::uint16_t bits;
  float number() const noexcept { return static_cast<float>(detail::half_to_double(bits)); }
};

template <class T>
auto number_of(T element) noexcept {
  if constexpr (std::is_class_v<T>) {
    return element.number();
  } else {
    return element;
  }
}

// Calls f with a pointer to the elements, of their type.
template <class F>
auto with_elements(const TensorView& tensor, F&& f) {
  const void* data = tensor.data();
  switch (tensor.dtype()) {
    case DType::kFloat32: return f(static_cast<const float*>(data));
    case DType::kFloat64: return f(static_cast<const double*>(data));
    case DType::kInt32: return f(static_cast<const std::int32_t*>(data));
    case DType::kInt64: return f(static_cast<const std::int64_t*>(data));
    case DType::kBool:
    case DType::kUInt8: return f(static_cast<const std::uint8_t*>(data));
    case DType::kBFloat16: return f(static_cast<const BFloat16*>(data));
    case DType::kFloat16: return f(static_cast<const Half*>(data));
    default:
      fail(Code::kInvalidArgument, fmt::format("[B4029] a {} tensor holds no numbers", dtype_name(tensor.dtype())));
  }
}

template <class N>
bool is_finite(N number) noexcept {
  if constexpr (std::is_floating_point_v<N>) {
    return std::isfinite(number);
  } else {
    return true;
  }
}

template <class T>
TensorStatistics statistics_of(const T* elements, std::uint64_t n) {
  TensorStatistics found;
  double sum = 0;
  using Number = decltype(number_of(T{}));
  Number smallest{}, largest{};
  for (std::uint64_t i = 0; i < n; ++i) {
    const Number x = number_of(elements[i]);
    if (!is_finite(x)) {
      ++found.non_finite;
      continue;
    }
    sum += static_cast<double>(x);
    if (!found.min_at || x < smallest) smallest = x, found.min_at = i;
    if (!found.max_at || x > largest) largest = x, found.max_at = i;
  }
  if (found.non_finite != n) found.mean = sum / static_cast<double>(n - found.non_finite);
  return found;
}

template <class N>
double distance(N a, N b) noexcept {
  if constexpr (std::is_same_v<N, std::int64_t>) {
    const auto x = static_cast<std::uint64_t>(std::max(a, b)), y = static_cast<std::uint64_t>(std::min(a, b));
    return static_cast<double>(x - y);
  } else {
    return std::abs(static_cast<double>(a) - static_cast<double>(b));
  }
}

template <class T>
TensorDifference difference_of(const T* a, const T* b, std::uint64_t n) {
  TensorDifference found;
  for (std::uint64_t i = 0; i < n; ++i) {
    // It compares bits: a NaN equals itself, and 0 is not -0.  NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
    if (std::memcmp(a + i, b + i, sizeof(T)) == 0) continue;
    const double by = distance(number_of(a[i]), number_of(b[i]));
    if (found.count == 0) found.first = i;
    // The first difference that is NaN stays, since nothing is larger.
    if (found.count++ == 0 || by > found.largest || (std::isnan(by) && !std::isnan(found.largest)))
      found.largest = by, found.largest_at = i;
  }
  return found;
}

}  // namespace

TensorStatistics statistics_of(const TensorView& tensor) {
  return with_elements(tensor, [&](const auto* elements) { return statistics_of(elements, tensor.size()); });
}

TensorDifference difference_of(const TensorView& a, const TensorView& b) {
  if (a.size() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0) return {};
  return with_elements(a, [&](const auto* elements) {
    return difference_of(elements, static_cast<decltype(elements)>(b.data()), a.size());
  });
}

std::string element_text(const TensorView& tensor, std::uint64_t element) {
  return with_elements(tensor, [&](const auto* elements) -> std::string {
    const auto number = number_of(elements[element]);
    if (tensor.dtype() == DType::kBool) return number != 0 ? "true" : "false";
    char text[40];
    return {text, std::to_chars(text, text + sizeof(text), number).ptr};
  });
}

std::string position_text(const TensorView& tensor, std::uint64_t element) {
  std::vector<std::int64_t> position(static_cast<std::size_t>(tensor.rank()));
  for (std::int32_t i = tensor.rank(); i-- > 0;) {
    const auto dim = static_cast<std::uint64_t>(tensor.dim(i));
    position[static_cast<std::size_t>(i)] = static_cast<std::int64_t>(element % dim);
    element /= dim;
  }
  return dims_text(position);
}

}  // namespace belay::runtime
