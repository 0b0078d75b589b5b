// SPDX-License-Identifier: Apache-2.0
// Sizes and values of dense numeric tensors, with checked arithmetic. [any thread]
#pragma once

#include <cstdint>
#include <optional>

#include "belay/tensor.h"

namespace belay::runtime {

// Returns the bytes of a tensor. None: a dimension is negative, the type is not numeric, or the size is above a
// pointer's range.
std::optional<std::uint64_t> byte_size(DType dtype, const std::int64_t* dims, std::int32_t rank) noexcept;
inline std::optional<std::uint64_t> byte_size(DType dtype, const Dims& dims) noexcept {
  return byte_size(dtype, dims.data(), static_cast<std::int32_t>(dims.size()));
}

// A checkpoint's facts about a tensor's elements, found in one pass over them.
struct TensorDigest {
  std::uint32_t crc = 0;                    // CRC32C of the bytes
  std::optional<std::uint64_t> non_finite;  // the first element that is NaN or infinite, if the type has such values
};
// `tensor` has a byte_size, and the alignment of its elements.
TensorDigest digest(const belay_tensor& tensor) noexcept;

}  // namespace belay::runtime
