// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a session's products, convolutions and recurrent cells.
#pragma once

#include <cstdint>
#include <string_view>

namespace belay::runtime {

// With kBfloat16 oneDNN's float32 kernels round their inputs to bfloat16, multiply those, add up in float32 and return
// float32. Variables, gradients, optimizers and all other operations stay float32. It is faster if the processor has
// instructions for it. Results differ in the third digit.
enum class Precision : std::uint8_t { kFloat32, kBfloat16 };

constexpr std::string_view precision_name(Precision p) { return p == Precision::kBfloat16 ? "bf16" : "float32"; }

}  // namespace belay::runtime
