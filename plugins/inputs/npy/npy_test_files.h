// SPDX-License-Identifier: Apache-2.0
// Makes .npy files for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace npy_input {

inline std::string npy_bytes(const std::string& header, const std::string& elements, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += {static_cast<char>(version), '\0'};
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes.push_back(static_cast<char>(header.size() >> 8 * i));
  return bytes + header + elements;
}

// Writes the elements unchanged, row after row.
template <class T>
std::string npy_file(const std::string& descr, const std::string& shape, const std::vector<T>& values) {
  std::string elements(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(elements.data(), values.data(), elements.size());
  return npy_bytes("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n", elements);
}

}  // namespace npy_input
