// SPDX-License-Identifier: Apache-2.0
// What the tests of this plugin share.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "belay/testing/error_of.h"
#include "belay/testing/saver_driver.h"

extern "C" const belay_module belay_module_npz;

namespace npz_saver {

using belay::Dims;
using belay::DType;
using belay::testing::error_of;
using belay::testing::NamedTensors;
using belay::testing::SaverDriver;

inline const belay_module& npz_module() { return belay::testing::module_under_test(belay_module_npz); }

inline constexpr const char* kNpz = "model.npz";

inline belay::Tensor of_type(DType type, const Dims& dims, std::uint64_t seed) {
  belay::Tensor t(type, dims);
  std::mt19937_64 random(seed);
  auto* bytes = static_cast<unsigned char*>(t.view().data);
  for (std::size_t i = 0; i < t.size() * belay::dtype_size(type); ++i)
    bytes[i] = static_cast<unsigned char>(type == DType::kBool ? random() & 1 : random());
  return t;
}

inline NamedTensors one_of_each() {
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

// A .npy file with that header.
inline std::string npy_of(const std::string& header, const std::string& elements) {
  std::string bytes("\x93NUMPY\1\0", 8);
  bytes += {static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return bytes + header + elements;
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Where the samples are.
inline std::filesystem::path npy_samples() {
  const char* folder = std::getenv("BELAY_SAMPLES_DIR");
  return std::filesystem::path(folder != nullptr ? folder : BELAY_SOURCE_DIR "/../shared/samples") / "npy";
}

}  // namespace npz_saver
