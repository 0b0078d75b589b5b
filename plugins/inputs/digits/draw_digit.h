// SPDX-License-Identifier: Apache-2.0
// Draws the examples of the digits data set.
#pragma once

#include <cstdint>

namespace digits_input {

constexpr int kSide = 28;
constexpr int kPixels = kSide * kSide;

// A key names a data set. Its examples are numbered from 0, and each depends only on key and number, to the bit. The
// code uses only additions, products, quotients and square roots, since IEEE 754 rounds these the same everywhere. Call
// it from any thread.
int digit_label(std::uint64_t key, std::uint64_t example);
// Draws kPixels grey values, row by row; 0 is the background. It allocates nothing.
void draw_digit(std::uint64_t key, std::uint64_t example, std::uint8_t* pixels);

}  // namespace digits_input
