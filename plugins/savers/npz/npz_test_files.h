// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of this plugin.
#pragma once

#include <filesystem>
#include <string>

#include "belay/testing/error_of.h"
#include "belay/testing/saver_driver.h"
#include "plugins/savers/saver_test.h"

extern "C" const belay_module belay_module_npz;

namespace npz_saver {

using belay::Dims;
using belay::DType;
using belay::testing::error_of;
using belay::testing::NamedTensors;
using belay::testing::SaverDriver;
using saver_test::of_type;
using saver_test::one_of_each;
using saver_test::read_bytes;

inline const belay_module& npz_module() { return belay::testing::module_under_test(belay_module_npz); }

inline constexpr const char* kNpz = "model.npz";

// Returns a .npy file with that header.
inline std::string npy_of(const std::string& header, const std::string& elements) {
  std::string bytes("\x93NUMPY\1\0", 8);
  bytes += {static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return bytes + header + elements;
}

inline std::filesystem::path npy_samples() { return saver_test::samples("npy"); }

}  // namespace npz_saver
