// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of savers: tensors to write, and the samples of other programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "belay/testing/saver_driver.h"

namespace saver_test {

// Fills a tensor with random elements; they are the same for the same seed.
inline belay::Tensor of_type(belay::DType type, const belay::Dims& dims, std::uint64_t seed) {
  belay::Tensor t(type, dims);
  std::mt19937_64 random(seed);
  auto* bytes = static_cast<unsigned char*>(t.view().data);
  for (std::size_t i = 0; i < t.size() * belay::dtype_size(type); ++i)
    bytes[i] = static_cast<unsigned char>(type == belay::DType::kBool ? random() & 1 : random());
  return t;
}

// Returns a tensor of each dtype but string. Among them are a scalar, an empty one, and one whose name must be escaped.
inline belay::testing::NamedTensors one_of_each() {
  using belay::DType;
  return {{"u8", of_type(DType::kUInt8, {5}, 1)},
          {"bool", of_type(DType::kBool, {3}, 2)},
          {"f16", of_type(DType::kFloat16, {2, 3}, 3)},
          {"bf16", of_type(DType::kBFloat16, {7}, 4)},
          {"f32", of_type(DType::kFloat32, {3, 4}, 5)},
          {"i32", of_type(DType::kInt32, {1, 1, 1}, 6)},
          {"f64", of_type(DType::kFloat64, {2}, 7)},
          {"i64 scalar", of_type(DType::kInt64, {}, 8)},
          {"empty", of_type(DType::kFloat32, {0, 4}, 9)},
          {"scope/\"quoted\"\n\xc3\xa9", of_type(DType::kFloat32, {1}, 10)}};
}

// Returns the folder with the samples of a kind. It may be missing.
inline std::filesystem::path samples(const char* kind) {
  const char* folder = std::getenv("BELAY_SAMPLES_DIR");
  return std::filesystem::path(folder != nullptr ? folder : BELAY_SOURCE_DIR "/../shared/samples") / kind;
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace saver_test
