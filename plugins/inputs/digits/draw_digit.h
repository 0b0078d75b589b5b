// SPDX-License-Identifier: Apache-2.0
// Draws the examples of the digits data set.
#pragma once

#include <cstdint>

namespace digits_input {

constexpr int kSide = 28;
constexpr int kPixels = kSide * kSide;

// A data set is a key; its examples are numbered from 0 and each depends on key and number alone, to the bit: only
// additions, products, quotients and square roots are used, which IEEE 754 rounds the same everywhere.
// Any thread.
int digit_label(std::uint64_t key, std::uint64_t example);
// kPixels grey values, row by row, 0 the background. Allocates nothing.
void draw_digit(std::uint64_t key, std::uint64_t example, std::uint8_t* pixels);

}  // namespace digits_input
