// SPDX-License-Identifier: Apache-2.0
#include "slices.h"

#include <belay/tensor.h>

namespace tf_bundle {
namespace {

std::uint64_t volume(const belay::Dims& lengths) {
  std::uint64_t n = 1;
  for (const std::int64_t d : lengths) n *= static_cast<std::uint64_t>(d);
  return n;
}

bool overlap(const Slice& a, const Slice& b) {
  for (std::size_t d = 0; d < a.start.size(); ++d)
    if (a.start[d] >= b.start[d] + b.length[d] || b.start[d] >= a.start[d] + a.length[d]) return false;
  return true;
}

std::string slice_text(const Slice& s) { return belay::dims_text(s.length) + " at " + belay::dims_text(s.start); }

}  // namespace

std::string fault_of(const std::vector<Slice>& slices, const belay::Dims& dims) {
  std::uint64_t covered = 0;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Slice& s = slices[i];
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (s.start[d] < 0 || s.length[d] < 1 || s.start[d] > dims[d] || s.length[d] > dims[d] - s.start[d])
        return "a slice " + slice_text(s) + " that is not inside of " + belay::dims_text(dims);
    for (std::size_t j = 0; j < i; ++j)
      if (overlap(s, slices[j]))
        return "the slices " + slice_text(slices[j]) + " and " + slice_text(s) + ", which overlap";
    covered += volume(s.length);
  }
  if (covered != volume(dims))
    return "slices of " + std::to_string(covered) + " elements; it has " + std::to_string(volume(dims));
  return "";
}

void for_each_run(const Slice& slice, const belay::Dims& dims, std::uint64_t width,
                  const std::function<void(std::uint64_t, std::uint64_t)>& place) {
  // A piece covers the last dimensions that the slice has in full, and its part of the previous one.
  std::size_t outer = dims.size();
  std::uint64_t run = width;
  while (outer > 0 && slice.length[outer - 1] == dims[outer - 1]) run *= static_cast<std::uint64_t>(dims[--outer]);
  if (outer > 0) run *= static_cast<std::uint64_t>(slice.length[--outer]);
  belay::Dims at = slice.start;
  for (bool more = true; more;) {
    std::uint64_t offset = 0;
    for (std::size_t d = 0; d < dims.size(); ++d)
      offset = offset * static_cast<std::uint64_t>(dims[d]) + static_cast<std::uint64_t>(at[d]);
    place(offset * width, run);
    more = false;
    for (std::size_t d = outer; d > 0 && !more; --d) {
      more = ++at[d - 1] < slice.start[d - 1] + slice.length[d - 1];
      if (!more) at[d - 1] = slice.start[d - 1];
    }
  }
}

}  // namespace tf_bundle
