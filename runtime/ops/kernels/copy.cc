// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/kernels/copy.h"

#include <algorithm>
#include <cstring>

#include "runtime/ops/kernels/parallel.h"

namespace belay::runtime {
namespace {

class CopyKernel final : public Kernel {
 public:
  explicit CopyKernel(const KernelSpec& spec) : bytes_(spec.outputs[0].bytes()) {}
  void run(void* const* in, void* const* out, const KernelContext&) override {
    if (bytes_ != 0 && in[0] != out[0]) std::memcpy(out[0], in[0], bytes_);
  }

 private:
  std::size_t bytes_;
};

constexpr std::int64_t kSquare = 16;  // rows and columns of a transposition that fit the first cache
constexpr std::int64_t kGrain = 1 << 14;

// Copies rows x columns elements of `size` bytes. Strides are in bytes. If the sides differ about the contiguous
// dimension, it copies tile by tile.
template <std::size_t size>
void copy_plane(const std::byte* from, std::int64_t from_row, std::int64_t from_column, std::byte* to,
                std::int64_t to_row, std::int64_t to_column, std::int64_t rows, std::int64_t columns) {
  constexpr auto kSize = static_cast<std::int64_t>(size);
  if (from_column == kSize && to_column == kSize) {
    for (std::int64_t r = 0; r < rows; ++r)
      std::memcpy(to + r * to_row, from + r * from_row, static_cast<std::size_t>(columns) * size);
    return;
  }
  for (std::int64_t r0 = 0; r0 < rows; r0 += kSquare)
    for (std::int64_t c0 = 0; c0 < columns; c0 += kSquare)
      for (std::int64_t r = r0; r < std::min(rows, r0 + kSquare); ++r)
        for (std::int64_t c = c0; c < std::min(columns, c0 + kSquare); ++c)
          std::memcpy(to + r * to_row + c * to_column, from + r * from_row + c * from_column, size);
}

}  // namespace

std::unique_ptr<Kernel> make_copy(const KernelSpec& spec) { return std::make_unique<CopyKernel>(spec); }

std::vector<std::int64_t> dense_strides(const Dims& dims) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0; stride *= dims[i]) strides[i] = stride;
  return strides;
}

StridedCopy::StridedCopy(std::size_t element_bytes, const Dims& dims, const std::vector<std::int64_t>& from_strides,
                         const std::vector<std::int64_t>& to_strides)
    : element_bytes_(element_bytes), empty_(count_of(dims) == 0) {
  const auto bytes = static_cast<std::int64_t>(element_bytes);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    const Dim d{dims[i], from_strides[i] * bytes, to_strides[i] * bytes};
    if (!dims_.empty() && dims_.back().from == d.from * d.size && dims_.back().to == d.to * d.size) {
      dims_.back() = {dims_.back().size * d.size, d.from, d.to};
    } else {
      dims_.push_back(d);
    }
  }
  while (dims_.size() < 2) dims_.insert(dims_.begin(), {1, bytes, bytes});
  // The last two dimensions become the rows and columns: the one that is contiguous in `from`, and the one in `to`.
  const auto innermost_of_from = std::min_element(dims_.begin(), dims_.end() - 1, [](const Dim& a, const Dim& b) {
    return (a.size == 1 ? INT64_MAX : a.from) < (b.size == 1 ? INT64_MAX : b.from);
  });
  if (dims_.back().from != bytes) std::rotate(innermost_of_from, innermost_of_from + 1, dims_.end() - 1);
  for (std::size_t i = 0; i + 2 < dims_.size(); ++i) outer_ *= dims_[i].size;
}

template <std::size_t size>
void StridedCopy::run_as(const std::byte* from, std::byte* to, int threads) const {
  const Dim &rows = dims_[dims_.size() - 2], &columns = dims_.back();
  const auto plane = [&](std::int64_t i, std::int64_t first_row, std::int64_t n_rows) {
    std::int64_t from_at = first_row * rows.from, to_at = first_row * rows.to;
    for (std::size_t d = dims_.size() - 2; d-- > 0;) {
      from_at += i % dims_[d].size * dims_[d].from;
      to_at += i % dims_[d].size * dims_[d].to;
      i /= dims_[d].size;
    }
    copy_plane<size>(from + from_at, rows.from, columns.from, to + to_at, rows.to, columns.to, n_rows, columns.size);
  };
  if (outer_ == 1) {
    parallel_for(rows.size, kGrain / (columns.size + 1) + 1, threads,
                 [&](std::int64_t begin, std::int64_t end, int) { plane(0, begin, end - begin); });
  } else {
    parallel_for(outer_, kGrain / (rows.size * columns.size + 1) + 1, threads,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   for (std::int64_t i = begin; i < end; ++i) plane(i, 0, rows.size);
                 });
  }
}

void StridedCopy::run(const void* from_data, void* to_data, int threads) const {
  if (empty_) return;
  const auto* from = static_cast<const std::byte*>(from_data);
  auto* to = static_cast<std::byte*>(to_data);
  switch (element_bytes_) {
    case 1: return run_as<1>(from, to, threads);
    case 2: return run_as<2>(from, to, threads);
    case 4: return run_as<4>(from, to, threads);
    case 8: return run_as<8>(from, to, threads);
    default: return run_as<sizeof(belay_str)>(from, to, threads);
  }
}

}  // namespace belay::runtime
