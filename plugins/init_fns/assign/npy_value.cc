// SPDX-License-Identifier: Apache-2.0
#include "npy_value.h"

#include <belay/error.h>
#include <belay/mapped_file.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../inputs/npy/npy_header.h"

namespace assign_init {
namespace {

using belay::Code;
using belay::DType;
using belay::fail;
using npy_input::ElementType;
using npy_input::NpyHeader;

struct Half {
  std::uint16_t bits;
};

// The array's elements in row-major order.
class Elements {
 public:
  Elements(const NpyHeader& header, std::string_view bytes)
      : header_(header), data_(bytes.data() + header.data_at), strides_(header.shape.size(), 1) {
    const std::size_t rank = header.shape.size();
    for (std::size_t i = 1; i < rank; ++i) {
      const std::size_t d = header.fortran_order ? i : rank - 1 - i, next = header.fortran_order ? d - 1 : d + 1;
      strides_[d] = strides_[next] * static_cast<std::size_t>(header.shape[next]);
    }
  }

  // Calls f(i, element) for each element.
  template <class Element, class F>
  void for_each(F&& f) const {
    std::vector<std::int64_t> place(strides_.size(), 0);
    std::size_t at = 0;
    for (std::size_t i = 0, n = header_.elements(); i < n; ++i) {
      f(i, load<Element>(data_ + at * sizeof(Element)));
      for (std::size_t d = strides_.size(); d-- > 0;) {
        at += strides_[d];
        if (++place[d] < header_.shape[d]) break;
        at -= strides_[d] * static_cast<std::size_t>(header_.shape[d]);
        place[d] = 0;
      }
    }
  }

 private:
  template <class Element>
  Element load(const char* from) const {
    char copy[sizeof(Element)];
    std::memcpy(copy, from, sizeof(copy));
    if (header_.big_endian) std::reverse(copy, copy + sizeof(copy));
    Element element;
    std::memcpy(&element, copy, sizeof(element));
    return element;
  }

  const NpyHeader& header_;
  const char* data_;
  std::vector<std::size_t> strides_;
};

template <class T, class Element>
void convert(const Elements& elements, const std::string& what, T* out) {
  elements.for_each<Element>([&](std::size_t i, Element element) {
    if constexpr (std::is_same_v<Element, Half>) {
      out[i] = static_cast<T>(belay::detail::half_to_double(element.bits));
    } else {
      if constexpr (std::is_integral_v<T>)
        if (!std::in_range<T>(element))
          fail(Code::kInvalidArgument, what + " does not hold " + std::to_string(element) + ", its element " +
                                           std::to_string(i) + "; save values that it holds");
      out[i] = static_cast<T>(element);  // NOLINT(bugprone-signed-char-misuse): a number, not a character
    }
  });
}

bool is_float(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kFloat32 || type == ElementType::kFloat64;
}

template <class T>
void convert_any(const NpyHeader& header, const Elements& elements, const std::string& what, T* out) {
  if (is_float(header.type) && std::is_integral_v<T>)
    fail(Code::kInvalidArgument, what + " does not hold '" + header.descr + "'; save a.astype('i8')");
  switch (header.type) {
    case ElementType::kBool:
    case ElementType::kUInt8: return convert<T, std::uint8_t>(elements, what, out);
    case ElementType::kInt8: return convert<T, std::int8_t>(elements, what, out);
    case ElementType::kInt16: return convert<T, std::int16_t>(elements, what, out);
    case ElementType::kInt32: return convert<T, std::int32_t>(elements, what, out);
    case ElementType::kInt64: return convert<T, std::int64_t>(elements, what, out);
    case ElementType::kUInt16: return convert<T, std::uint16_t>(elements, what, out);
    case ElementType::kUInt32: return convert<T, std::uint32_t>(elements, what, out);
    case ElementType::kUInt64: return convert<T, std::uint64_t>(elements, what, out);
    case ElementType::kFloat16:
      if constexpr (std::is_floating_point_v<T>) convert<T, Half>(elements, what, out);
      return;
    case ElementType::kFloat32:
      if constexpr (std::is_floating_point_v<T>) convert<T, float>(elements, what, out);
      return;
    case ElementType::kFloat64:
      if constexpr (std::is_floating_point_v<T>) convert<T, double>(elements, what, out);
      return;
  }
}

void convert_bools(const NpyHeader& header, const Elements& elements, const std::string& what, bool* out) {
  if (header.type != ElementType::kBool)
    fail(Code::kInvalidArgument, what + " does not hold '" + header.descr + "'; save a.astype(bool)");
  elements.for_each<std::uint8_t>([&](std::size_t i, std::uint8_t element) { out[i] = element != 0; });
}

}  // namespace

belay::Tensor read_npy_value(const std::string& path, const belay::VariableInfo& variable) {
  const std::string prefix = "npy: '" + path + "' ";
  const belay::MappedFile file("npy", path);
  if (file.bytes().substr(0, 4) == "PK\3\4")
    fail(Code::kInvalidArgument, prefix + "is an archive of several arrays; save the one that is meant by numpy.save");
  const NpyHeader header = npy_input::read_npy_header(file.bytes(), prefix);
  const std::string what = prefix + "is for variable '" + variable.name + "', " + belay::dtype_name(variable.dtype) +
                           " " + belay::dims_text(variable.dims) + ", which";
  if (header.shape != variable.dims)
    fail(Code::kInvalidArgument, what + " has another shape than the array, " + belay::dims_text(header.shape) +
                                     "; save a.reshape(...) or a.T if that is what is meant");
  belay::Tensor value(variable.dtype, variable.dims);
  const Elements elements(header, file.bytes());
  switch (variable.dtype) {
    case DType::kFloat32: convert_any(header, elements, what, value.data<float>()); break;
    case DType::kFloat64: convert_any(header, elements, what, value.data<double>()); break;
    case DType::kInt32: convert_any(header, elements, what, value.data<std::int32_t>()); break;
    case DType::kInt64: convert_any(header, elements, what, value.data<std::int64_t>()); break;
    case DType::kUInt8: convert_any(header, elements, what, value.data<std::uint8_t>()); break;
    case DType::kBool: convert_bools(header, elements, what, value.data<bool>()); break;
    default: fail(Code::kInvalidArgument, what + " cannot be set from an array; set it by a checkpoint");
  }
  return value;
}

}  // namespace assign_init
