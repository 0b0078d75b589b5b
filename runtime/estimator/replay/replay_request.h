// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "belay/runtime/replay.h"

namespace belay::runtime {

// A program's options, and those of `belay replay` alone. Messages name the members as its options.
struct ReplayRequest : ReplayOptions {
  std::int64_t last() const noexcept { return to == 0 ? step : to; }

  std::string run = {};                      // the directory
  std::vector<std::string> hook_texts = {};  // --hook: NAME, or NAME{key = value, ...}; called before the others
  bool all_tensors = false;
};

}  // namespace belay::runtime
