// SPDX-License-Identifier: Apache-2.0
// In which arithmetic a session computes its products, convolutions and recurrent cells.
#pragma once

#include <cstdint>
#include <string_view>

namespace belay::runtime {

// With kBfloat16 the float32 kernels that oneDNN serves round their inputs to bfloat16, multiply those, add up in
// float32 and return float32. Variables, gradients, optimizers and all other operations stay float32. Faster where the
// processor has instructions for it; results differ in the third digit.
enum class Precision : std::uint8_t { kFloat32, kBfloat16 };

constexpr std::string_view precision_name(Precision p) { return p == Precision::kBfloat16 ? "bf16" : "float32"; }

}  // namespace belay::runtime
