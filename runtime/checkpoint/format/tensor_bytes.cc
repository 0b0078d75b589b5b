// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/format/tensor_bytes.h"

#include <algorithm>
#include <cstdint>

#include "runtime/ops/kernels/hot.h"
#include "runtime/platform/files/crc32c.h"

namespace belay::runtime {
namespace {

// Small enough to stay in a level 2 cache between the check and the checksum.
constexpr std::uint64_t kBlock = std::uint64_t{1} << 16;

// A number is not finite if all its exponent bits are set. Compilers vectorise a loop of constant length without a
// pragma.
template <class Bits>
BELAY_HOT bool all_finite(const Bits* bits, std::uint64_t n, Bits exponent) noexcept {
  constexpr std::uint64_t kRun = 512;
  Bits found = 0;
  std::uint64_t i = 0;
  for (; i + kRun <= n; i += kRun)
    for (std::uint64_t j = 0; j < kRun; ++j) found |= static_cast<Bits>((bits[i + j] & exponent) == exponent ? 1 : 0);
  for (; i < n; ++i) found |= static_cast<Bits>((bits[i] & exponent) == exponent ? 1 : 0);
  return found == 0;
}

template <class Bits>
TensorDigest digest_of(const void* data, std::uint64_t bytes, Bits exponent) noexcept {
  TensorDigest digest;
  const auto* at = static_cast<const char*>(data);
  for (std::uint64_t begin = 0; begin < bytes; begin += kBlock) {
    const std::uint64_t size = std::min(bytes - begin, kBlock), n = size / sizeof(Bits);
    const auto* block = reinterpret_cast<const Bits*>(at + begin);
    if (exponent != 0 && !digest.non_finite && !all_finite(block, n, exponent)) {
      const auto* found = std::find_if(block, block + n, [&](Bits b) { return (b & exponent) == exponent; });
      digest.non_finite = begin / sizeof(Bits) + static_cast<std::uint64_t>(found - block);
    }
    digest.crc = crc32c(block, size, digest.crc);
  }
  return digest;
}

}  // namespace

std::optional<std::uint64_t> byte_size(DType dtype, const std::int64_t* dims, std::int32_t rank) noexcept {
  std::uint64_t size = dtype_size(dtype);
  if (size == 0 || dtype == DType::kString) return std::nullopt;
  bool empty = false;
  for (std::int32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) return std::nullopt;
    if (dims[i] == 0) empty = true;
    // Zeros do not count, so that [0, huge, huge] is refused like [huge, 0, huge].
    if (dims[i] > 1 && __builtin_mul_overflow(size, static_cast<std::uint64_t>(dims[i]), &size)) return std::nullopt;
  }
  if (size > static_cast<std::uint64_t>(PTRDIFF_MAX)) return std::nullopt;
  return empty ? 0 : size;
}

TensorDigest digest(const belay_tensor& tensor) noexcept {
  const auto dtype = static_cast<DType>(tensor.dtype);
  const std::uint64_t bytes = byte_size(dtype, tensor.dims, tensor.rank).value_or(0);
  switch (dtype) {
    case DType::kFloat32: return digest_of<std::uint32_t>(tensor.data, bytes, 0x7f800000u);
    case DType::kFloat64: return digest_of<std::uint64_t>(tensor.data, bytes, 0x7ff0000000000000u);
    case DType::kBFloat16: return digest_of<std::uint16_t>(tensor.data, bytes, 0x7f80);
    case DType::kFloat16: return digest_of<std::uint16_t>(tensor.data, bytes, 0x7c00);
    default: return digest_of<std::uint8_t>(tensor.data, bytes, 0);
  }
}

}  // namespace belay::runtime
