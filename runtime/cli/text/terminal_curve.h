// SPDX-License-Identifier: Apache-2.0
// A curve in characters, for a terminal.
//
//        2.31 |*
//             | ***
//             |    *********
//      0.0402 |             *******
//              0               3000
#pragma once

#include <string>

#include "runtime/report/curves.h"

namespace belay::runtime {

// `columns` and `rows` of the drawing itself; each line follows `indent`. With `braille` a character has two by four
// dots, else a star. If the values are positive and of very different sizes, it draws their logarithms. Empty if no
// value is finite.
std::string terminal_curve(const Curve& curve, std::size_t columns, std::size_t rows, bool braille,
                           const std::string& indent);

}  // namespace belay::runtime
