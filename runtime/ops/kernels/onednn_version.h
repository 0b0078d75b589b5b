// SPDX-License-Identifier: Apache-2.0
// Names the oneDNN that computes here.
#pragma once

#include <string>

namespace belay::runtime {

// Returns the facts that decide its results: "2.6.3 avx512_core_bf16". These are its version, its instruction set
// (ONEDNN_MAX_CPU_ISA may limit it), and other environment settings that are not the default.
std::string onednn_text();

}  // namespace belay::runtime
