// SPDX-License-Identifier: Apache-2.0
// Formats numbers with a fixed number of digits for people. belay/tensor_text.h has printf's %g.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>

namespace belay::runtime {

// Returns the number with this many digits after the dot, like printf's %.2f, in every locale.
inline std::string fixed_text(double value, int digits) {
  char text[400];  // 309 digits before the dot
  return {text, std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed, std::min(digits, 80)).ptr};
}

}  // namespace belay::runtime
