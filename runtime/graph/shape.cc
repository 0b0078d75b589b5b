// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/shape.h"

#include <algorithm>

namespace belay::runtime {

Shape::Shape(const std::int64_t* dims, std::int32_t rank) {
  if (rank < 0) {
    known_rank_ = false;
  } else if (rank > 0) {
    dims_.assign(dims, dims + rank);
  }
}

bool Shape::fully_known() const noexcept {
  return known_rank_ && std::all_of(dims_.begin(), dims_.end(), [](std::int64_t d) { return d >= 0; });
}

std::int64_t Shape::elements() const noexcept { return fully_known() ? count_of(dims_) : -1; }

bool Shape::allows(const Dims& dims) const noexcept {
  if (!known_rank_) return true;
  if (dims_.size() != dims.size()) return false;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims_[i] >= 0 && dims[i] >= 0 && dims_[i] != dims[i]) return false;
  return true;
}

bool Shape::compatible(const Shape& a, const Shape& b) noexcept { return !b.known_rank_ || a.allows(b.dims_); }

Shape Shape::merged(const Shape& a, const Shape& b, bool& ok) {
  ok = compatible(a, b);
  if (!ok || !b.known_rank_) return a;
  if (!a.known_rank_) return b;
  Shape out = a;
  for (std::size_t i = 0; i < out.dims_.size(); ++i)
    if (out.dims_[i] < 0) out.dims_[i] = b.dims_[i];
  return out;
}

Shape broadcast(const Shape& a, const Shape& b, bool& ok) {
  ok = true;
  if (!a.has_rank() || !b.has_rank()) return Shape::unknown();
  const std::size_t rank = std::max(a.dims().size(), b.dims().size());
  Dims out(rank);
  for (std::size_t i = 0; i < rank; ++i) {  // from the last dimension
    const std::int64_t x = i < a.dims().size() ? a.dims()[a.dims().size() - 1 - i] : 1;
    const std::int64_t y = i < b.dims().size() ? b.dims()[b.dims().size() - 1 - i] : 1;
    std::int64_t& d = out[rank - 1 - i];
    if (x == y || y == 1) {
      d = x;
    } else if (x == 1) {
      d = y;
    } else if (x < 0 || y < 0) {
      d = std::max(x, y);  // an unknown one must be the other's value (or 1)
    } else {
      ok = false;
      return a;
    }
  }
  return Shape(std::move(out));
}

std::optional<std::vector<Shape>> shapes_of_components(const std::vector<std::int64_t>& flat) {
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < flat.size();) {
    const std::int64_t rank = flat[i++];
    if (rank < -1 || rank > static_cast<std::int64_t>(flat.size() - i)) return std::nullopt;
    shapes.push_back(Shape(flat.data() + i, static_cast<std::int32_t>(rank)));
    if (rank > 0) i += static_cast<std::size_t>(rank);
  }
  return shapes;
}

// Unsigned, since the product of the others may be too large to count if one dimension is 0.
std::int64_t count_of(const Dims& dims) noexcept {
  std::uint64_t n = 1;
  for (const std::int64_t d : dims) n *= static_cast<std::uint64_t>(d);
  return static_cast<std::int64_t>(n);
}

}  // namespace belay::runtime
