// SPDX-License-Identifier: Apache-2.0
// Numbers with a fixed number of digits for people. belay/tensor_text.h has those of printf's %g.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>

namespace belay::runtime {

// The number with so many digits after a dot, as printf's %.2f shows it, in every locale.
inline std::string fixed_text(double value, int digits) {
  char text[400];  // 309 digits in front of the dot
  return {text, std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed, std::min(digits, 80)).ptr};
}

}  // namespace belay::runtime
