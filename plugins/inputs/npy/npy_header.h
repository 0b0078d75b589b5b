// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file: the type and the layout of its elements.
#pragma once

#include <belay/tensor.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace npy_input {

enum class ElementType {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kFloat32,
  kFloat64
};

std::size_t element_size(ElementType type);

struct NpyHeader {
  std::string descr;  // numpy's name of the type: "<f4"
  ElementType type = ElementType::kFloat32;
  std::string refusal;  // the reason and the fix if its elements are no readable numbers; empty: they are
  bool big_endian = false;
  bool fortran_order = false;  // the first dimension runs fastest
  belay::Dims shape;           // empty: a single number
  std::size_t data_at = 0;     // offset of the elements

  std::size_t elements() const;
};

// Reads format versions 1 to 3. Checks that all elements of the shape exist, and nothing after them. Throws an Error if
// the file is damaged or its elements are no numbers. `prefix` ("features: 'x.npy' ") begins its message.
NpyHeader read_npy_header(std::string_view bytes, const std::string& prefix);

// Reads only the header. `bytes` may end anywhere after it. Elements of other kinds are no error here but a `refusal`.
NpyHeader parse_npy_header(std::string_view bytes, const std::string& prefix);

}  // namespace npy_input
