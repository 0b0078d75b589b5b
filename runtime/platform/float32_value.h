// SPDX-License-Identifier: Apache-2.0
// Whether a number of the manifest survives in float32, the type that a model computes in. A number that is in its
// range may leave it there: 1e39 is infinite, 1e-300 is 0, and 0.99999999 is 1.
#pragma once

#include <string>

namespace belay::runtime {

// "1e+39, which is no float32: the largest one is 3.4028235e+38"; empty: it survives. `max` and `has_max`: the range
// that the number is in; one that ends just below a float32 leaves that float32 out.
std::string float32_problem(double value, bool has_max = false, double max = 0);

}  // namespace belay::runtime
