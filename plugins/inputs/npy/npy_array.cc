// SPDX-License-Identifier: Apache-2.0
#include "npy_array.h"

#include <belay/error.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "npz_member.h"

namespace npy_input {
namespace {

using belay::Code;
using belay::DType;
using belay::fail;

struct Half {
  std::uint16_t bits;
};

template <class Element>
Element load(const char* bytes, bool big_endian) {
  char copy[sizeof(Element)];
  std::memcpy(copy, bytes, sizeof(copy));
  if (big_endian) std::reverse(copy, copy + sizeof(copy));
  Element element;
  std::memcpy(&element, copy, sizeof(element));
  return element;
}

// Returns the offsets of a row's elements from its first one, if the first dimension runs fastest.
std::vector<std::size_t> fortran_offsets(const belay::Dims& shape) {
  std::vector<std::size_t> offsets{0};
  std::size_t stride = static_cast<std::size_t>(shape[0]);
  for (std::size_t axis = 1; axis < shape.size(); ++axis) {
    std::vector<std::size_t> next;
    for (const std::size_t before : offsets)
      for (std::size_t i = 0; i < static_cast<std::size_t>(shape[axis]); ++i) next.push_back(before + i * stride);
    offsets = std::move(next);
    stride *= static_cast<std::size_t>(shape[axis]);
  }
  return offsets;
}

}  // namespace

NpyArray::NpyArray(std::string_view option, const std::string& path) {
  constexpr std::string_view kArchive = ".npz";
  const std::size_t archive = path.rfind(std::string(kArchive) + ":");
  const bool nameless =
      path.size() >= kArchive.size() && path.compare(path.size() - kArchive.size(), kArchive.size(), kArchive) == 0;
  prefix_ = std::string(option) + ": '" + path + "' ";
  if (archive != std::string::npos || nameless) {
    const std::size_t end = nameless ? path.size() : archive + kArchive.size();
    unpacked_ = read_npz_member(option, path.substr(0, end), nameless ? "" : path.substr(end + 1));
  } else {
    file_ = belay::MappedFile(option, path);
  }
  header_ = read_npy_header(bytes(), prefix_);
  for (std::size_t axis = 1; axis < header_.shape.size(); ++axis)
    row_elements_ *= static_cast<std::size_t>(header_.shape[axis]);
  // In a shape without elements any other dimension may be huge. With elements, no dimension exceeds the file's size.
  if (header_.fortran_order && header_.shape.size() > 1 && header_.shape[0] > 0 && row_elements_ > 0)
    fortran_offsets_ = fortran_offsets(header_.shape);
}

DType NpyArray::dtype() const {
  switch (header_.type) {
    case ElementType::kBool: return DType::kBool;
    case ElementType::kUInt8: return DType::kUInt8;
    case ElementType::kInt8:
    case ElementType::kInt16:
    case ElementType::kUInt16:
    case ElementType::kInt32: return DType::kInt32;
    case ElementType::kUInt32:
    case ElementType::kUInt64:
    case ElementType::kInt64: return DType::kInt64;
    case ElementType::kFloat16:
    case ElementType::kFloat32: return DType::kFloat32;
    case ElementType::kFloat64: return DType::kFloat64;
  }
  return DType::kInvalid;
}

template <class Element, class T>
void NpyArray::copy_elements(std::int64_t row, T* out) const {
  const char* data = bytes().data() + header_.data_at;
  const auto r = static_cast<std::size_t>(row);
  const bool plain = fortran_offsets_.empty();
  if constexpr (std::is_same_v<Element, T> && !std::is_same_v<T, bool>) {
    if (plain && !header_.big_endian) {
      std::memcpy(out, data + r * row_elements_ * sizeof(T), row_elements_ * sizeof(T));
      return;
    }
  }
  for (std::size_t i = 0; i < row_elements_; ++i) {
    const std::size_t at = plain ? r * row_elements_ + i : r + fortran_offsets_[i];
    const Element element = load<Element>(data + at * sizeof(Element), header_.big_endian);
    if constexpr (std::is_same_v<Element, Half>) {
      out[i] = static_cast<T>(belay::detail::half_to_double(element.bits));
    } else {
      if constexpr (std::is_same_v<Element, std::uint64_t> && std::is_same_v<T, std::int64_t>)
        if (element > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
          fail(Code::kInvalidArgument, "[B3025] " + prefix_ + "holds " + std::to_string(element) + " in row " +
                                           std::to_string(row) + ", above all of int64; save a.astype('f8')");
      out[i] = static_cast<T>(element);  // NOLINT(bugprone-signed-char-misuse): a number, not a character
    }
  }
}

template <class T>
void NpyArray::copy_row(std::int64_t row, T* out) const {
  switch (header_.type) {
    case ElementType::kBool:  // any byte but 0 is true
      for (std::size_t i = 0; i < row_elements_; ++i) {
        const std::size_t at = fortran_offsets_.empty() ? static_cast<std::size_t>(row) * row_elements_ + i
                                                        : static_cast<std::size_t>(row) + fortran_offsets_[i];
        out[i] = static_cast<T>(bytes()[header_.data_at + at] != 0);
      }
      return;
    case ElementType::kInt8: return copy_elements<std::int8_t>(row, out);
    case ElementType::kInt16: return copy_elements<std::int16_t>(row, out);
    case ElementType::kInt32: return copy_elements<std::int32_t>(row, out);
    case ElementType::kInt64: return copy_elements<std::int64_t>(row, out);
    case ElementType::kUInt8: return copy_elements<std::uint8_t>(row, out);
    case ElementType::kUInt16: return copy_elements<std::uint16_t>(row, out);
    case ElementType::kUInt32: return copy_elements<std::uint32_t>(row, out);
    case ElementType::kUInt64: return copy_elements<std::uint64_t>(row, out);
    case ElementType::kFloat16: return copy_elements<Half>(row, out);
    case ElementType::kFloat32: return copy_elements<float>(row, out);
    case ElementType::kFloat64: return copy_elements<double>(row, out);
  }
}

template void NpyArray::copy_row(std::int64_t, float*) const;
template void NpyArray::copy_row(std::int64_t, double*) const;
template void NpyArray::copy_row(std::int64_t, std::int32_t*) const;
template void NpyArray::copy_row(std::int64_t, std::int64_t*) const;
template void NpyArray::copy_row(std::int64_t, std::uint8_t*) const;
template void NpyArray::copy_row(std::int64_t, bool*) const;

}  // namespace npy_input
