#include "runtime/checkpoint/tensor_bytes.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace belay::runtime {
namespace {

// A number is not finite when all its exponent bits are set. Blocks keep the inner loop free of branches, so that it is
// vectorised.
template <class Bits>
std::optional<std::uint64_t> find_non_finite(const void* data, std::uint64_t n, Bits exponent) noexcept {
  constexpr std::uint64_t kBlock = 4096;
  const char* bytes = static_cast<const char*>(data);
  const auto at = [&](std::uint64_t i) {
    Bits b;
    std::memcpy(&b, bytes + i * sizeof(Bits), sizeof(Bits));
    return b;
  };
  for (std::uint64_t begin = 0; begin < n; begin += kBlock) {
    const std::uint64_t end = std::min(n, begin + kBlock);
    bool found = false;
    for (std::uint64_t i = begin; i < end; ++i) found |= (at(i) & exponent) == exponent;
    if (!found) continue;
    for (std::uint64_t i = begin; i < end; ++i)
      if ((at(i) & exponent) == exponent) return i;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> byte_size(DType dtype, const std::int64_t* dims, std::int32_t rank) noexcept {
  std::uint64_t size = dtype_size(dtype);
  if (size == 0 || dtype == DType::kString) return std::nullopt;
  bool empty = false;
  for (std::int32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0) return std::nullopt;
    if (dims[i] == 0) empty = true;
    // Without the zeros, so that [0, huge, huge] is refused as [huge, 0, huge] is.
    if (dims[i] > 1 && __builtin_mul_overflow(size, static_cast<std::uint64_t>(dims[i]), &size)) return std::nullopt;
  }
  if (size > static_cast<std::uint64_t>(PTRDIFF_MAX)) return std::nullopt;
  return empty ? 0 : size;
}

std::optional<std::uint64_t> first_non_finite(const belay_tensor& tensor) noexcept {
  const auto dtype = static_cast<DType>(tensor.dtype);
  const std::uint64_t n = byte_size(dtype, tensor.dims, tensor.rank).value_or(0) / dtype_size(dtype);
  switch (dtype) {
    case DType::kFloat32: return find_non_finite<std::uint32_t>(tensor.data, n, 0x7f800000u);
    case DType::kFloat64: return find_non_finite<std::uint64_t>(tensor.data, n, 0x7ff0000000000000u);
    case DType::kBFloat16: return find_non_finite<std::uint16_t>(tensor.data, n, 0x7f80);
    case DType::kFloat16: return find_non_finite<std::uint16_t>(tensor.data, n, 0x7c00);
    default: return std::nullopt;
  }
}

}  // namespace belay::runtime
