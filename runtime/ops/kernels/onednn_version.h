// SPDX-License-Identifier: Apache-2.0
// Which oneDNN computes here.
#pragma once

#include <string>

namespace belay::runtime {

// What its results depend on: its version, the instruction set that it chose or was held to by ONEDNN_MAX_CPU_ISA, and
// the other settings of its environment that are not the default. "2.6.3 avx512_core_bf16".
std::string onednn_text();

}  // namespace belay::runtime
