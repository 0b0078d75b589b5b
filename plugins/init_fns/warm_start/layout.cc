// SPDX-License-Identifier: Apache-2.0
#include "layout.h"

#include <belay/error.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "table_entries.h"

namespace warm_start {
namespace {

using belay::Code;
using belay::DType;
using belay::fail;

std::string axes_text(const std::vector<std::int64_t>& axes) { return belay::dims_text(axes); }

// Returns the tensor's strides, in elements, in the order of the result's dimensions.
std::vector<std::size_t> strides_of(const belay::Dims& dims, const std::vector<std::int64_t>& axes) {
  std::vector<std::size_t> own(dims.size(), 1), strides;
  for (std::size_t i = dims.size(); i-- > 1;) own[i - 1] = own[i] * static_cast<std::size_t>(dims[i]);
  for (const std::int64_t axis : axes) strides.push_back(own[static_cast<std::size_t>(axis)]);
  return strides;
}

// Copies the result's elements in their order. `place` is the index in its dimensions and counts like a clock.
template <std::size_t kBytes>
void copy_permuted(const char* from, char* to, const belay::Dims& dims, const std::vector<std::size_t>& strides,
                   std::size_t count) {
  std::vector<std::int64_t> place(dims.size(), 0);
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to + i * kBytes, from + at * kBytes, kBytes);
    for (std::size_t d = dims.size(); d-- > 0;) {
      at += strides[d];
      if (++place[d] < dims[d]) break;
      at -= strides[d] * static_cast<std::size_t>(dims[d]);
      place[d] = 0;
    }
  }
}

bool is_float(DType t) {
  return t == DType::kFloat32 || t == DType::kFloat64 || t == DType::kFloat16 || t == DType::kBFloat16;
}

template <class T>
void copy_numbers(const belay::TensorView& from, T* to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<T>(from.number(i));
}

bool is_permutation(const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

}  // namespace

belay::Tensor transposed(const belay::Tensor& tensor, const std::vector<std::int64_t>& axes) {
  belay::Dims dims;
  for (const std::int64_t axis : axes) dims.push_back(tensor.dims()[static_cast<std::size_t>(axis)]);
  belay::Tensor result(tensor.dtype(), dims);
  const std::vector<std::size_t> strides = strides_of(tensor.dims(), axes);
  const auto* from = static_cast<const char*>(tensor.view().data);
  auto* to = static_cast<char*>(result.view().data);
  switch (belay::dtype_size(tensor.dtype())) {
    case 1: copy_permuted<1>(from, to, dims, strides, tensor.size()); break;
    case 2: copy_permuted<2>(from, to, dims, strides, tensor.size()); break;
    case 4: copy_permuted<4>(from, to, dims, strides, tensor.size()); break;
    default: copy_permuted<8>(from, to, dims, strides, tensor.size()); break;
  }
  return result;
}

bool can_convert(DType from, DType to) { return is_float(from) && (to == DType::kFloat32 || to == DType::kFloat64); }

belay::Tensor as_dtype(const belay::Tensor& tensor, DType dtype) {
  belay::Tensor result(dtype, tensor.dims());
  const belay::TensorView from(tensor.view()), to(result.view());
  if (dtype == DType::kFloat32) {
    copy_numbers(from, to.data<float>());
  } else {
    copy_numbers(from, to.data<double>());
  }
  return result;
}

Transposes::Transposes(const belay::Table& table) {
  for (const TableEntry& entry : entries_of("transpose", table)) {
    std::vector<std::int64_t> axes = entry.integers("axes");
    if (!is_permutation(axes))
      fail(Code::kInvalidArgument, entry.place() + ": axes = " + axes_text(axes) + " is no permutation of 0 to " +
                                       std::to_string(axes.size() - 1) + "; a matrix has [1, 0]");
    std::string place = entry.place();
    const std::string option = place.substr(1, place.size() - 2) + ".vars";
    entries_.push_back({std::move(place), init_fns::NamePatterns(option, entry.texts("vars")), std::move(axes)});
  }
}

std::optional<std::vector<std::int64_t>> Transposes::axes_for(const std::string& variable, std::size_t rank) {
  for (Entry& entry : entries_) {
    if (!entry.vars.matches(variable)) continue;
    std::vector<std::int64_t> axes = entry.axes.empty() ? std::vector<std::int64_t>{1, 0} : entry.axes;
    if (axes.size() == rank) return axes;
    fail(Code::kInvalidArgument,
         entry.place + " takes " + std::to_string(axes.size()) + " dimensions, the tensor for variable '" + variable +
             "' has " + std::to_string(rank) + "; " +
             (entry.axes.empty() ? "give its 'axes'" : "give 'axes' for these, or narrower 'vars'"));
  }
  return std::nullopt;
}

std::vector<std::string> Transposes::unused() const {
  std::vector<std::string> all;
  for (const Entry& entry : entries_)
    for (std::string& sentence : entry.vars.unused()) all.push_back(std::move(sentence));
  return all;
}

}  // namespace warm_start
