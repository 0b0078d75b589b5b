// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file: what its elements are and how they lie.
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
  std::string refusal;  // why its elements are no numbers that can be read, and what to do; empty: they are
  bool big_endian = false;
  bool fortran_order = false;  // the first dimension runs fastest
  belay::Dims shape;           // empty: a single number
  std::size_t data_at = 0;     // where the elements begin

  std::size_t elements() const;
};

// Format versions 1 to 3. The elements that the shape promises are there, and nothing behind them. Throws an
// Error with `prefix` ("features: 'x.npy' ") before its message if the file is damaged or its elements are no numbers.
NpyHeader read_npy_header(std::string_view bytes, const std::string& prefix);

// The header alone: `bytes` may end anywhere behind it, and elements of other kinds are no error but a `refusal`.
NpyHeader parse_npy_header(std::string_view bytes, const std::string& prefix);

}  // namespace npy_input
