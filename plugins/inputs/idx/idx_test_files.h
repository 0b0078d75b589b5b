// SPDX-License-Identifier: Apache-2.0
// Makes IDX files for the tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/inputs/gzip_test.h"

namespace idx_test {

using input_test::gzipped;

inline std::string big_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text.push_back(static_cast<char>(value >> (8 * i)));
  return text;
}

inline std::string header(int type, const std::vector<std::uint32_t>& dims) {
  std::string text{0, 0, static_cast<char>(type), static_cast<char>(dims.size())};
  for (const std::uint32_t dim : dims) text += big_endian(dim, 4);
  return text;
}

// Returns uint8 images whose elements count up from 0 and wrap.
inline std::string images(std::uint32_t n, std::uint32_t rows, std::uint32_t columns) {
  std::string text = header(8, {n, rows, columns});
  for (std::uint32_t i = 0; i < n * rows * columns; ++i) text.push_back(static_cast<char>(i));
  return text;
}

inline std::string labels(const std::vector<int>& values) {
  std::string text = header(8, {static_cast<std::uint32_t>(values.size())});
  for (const int value : values) text.push_back(static_cast<char>(value));
  return text;
}

}  // namespace idx_test
