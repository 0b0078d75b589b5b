// SPDX-License-Identifier: Apache-2.0
// Reads files in the IDX format of the MNIST data, plain or compressed with gzip:
//
//   0x00 0x00, element type, number of dimensions     one byte each
//   the dimensions                                    uint32 each; the first counts the records
//   the elements, row-major
//
// All numbers are big-endian. Errors are belay::Error and name the option, the path and the place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace idx_input {

enum class ElementType : std::uint8_t {
  kUInt8 = 0x08,
  kInt8 = 0x09,
  kInt16 = 0x0b,
  kInt32 = 0x0c,
  kFloat32 = 0x0d,
  kFloat64 = 0x0e,
};

std::size_t element_size(ElementType type);
const char* element_name(ElementType type);
// Converts one element of the file.
double element_value(ElementType type, const std::uint8_t* bytes);

struct IdxHeader {
  ElementType type = ElementType::kUInt8;
  std::vector<std::int64_t> dims;

  std::int64_t records() const { return dims[0]; }
  std::size_t elements_per_record() const;
  std::size_t bytes_per_record() const { return elements_per_record() * element_size(type); }
};

// Reads and checks only the header, and a plain file's length. `option` names the file's option.
IdxHeader read_idx_header(std::string_view option, const std::string& path);

// Returns all elements in the file's byte order. `header` comes from read_idx_header. DATA_LOSS: the file ends early,
// is damaged, or has changed since.
std::vector<std::uint8_t> read_idx_elements(std::string_view option, const std::string& path, const IdxHeader& header);

}  // namespace idx_input
