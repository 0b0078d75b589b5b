// Sizes and values of dense numeric tensors, with checked arithmetic. [any thread]
#pragma once

#include <cstdint>
#include <optional>

#include "belay/tensor.h"

namespace belay::runtime {

// Bytes of a tensor; none where a dimension is negative, the type is not numeric, or the size passes what a pointer can
// span.
std::optional<std::uint64_t> byte_size(DType dtype, const std::int64_t* dims, std::int32_t rank) noexcept;
inline std::optional<std::uint64_t> byte_size(DType dtype, const Dims& dims) noexcept {
  return byte_size(dtype, dims.data(), static_cast<std::int32_t>(dims.size()));
}

// The first element that is NaN or infinite; none where all are finite, or the type has no such values. `tensor` has a
// byte_size.
std::optional<std::uint64_t> first_non_finite(const belay_tensor& tensor) noexcept;

}  // namespace belay::runtime
