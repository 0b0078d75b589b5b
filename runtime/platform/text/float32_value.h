// SPDX-License-Identifier: Apache-2.0
// Checks that a number of the manifest survives in float32, the type of a model's computations. A number in its range
// may leave it there: 1e39 is infinite, 1e-300 is 0, and 0.99999999 is 1.
#pragma once

#include <string>

namespace belay::runtime {

// Returns "1e+39, which is no float32: the largest one is 3.4028235e+38"; empty: it fits. `has_max` and `max` are the
// limit of the number. A limit just below a float32 excludes that float32.
std::string float32_problem(double value, bool has_max = false, double max = 0);

}  // namespace belay::runtime
