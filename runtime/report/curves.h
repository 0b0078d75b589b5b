// SPDX-License-Identifier: Apache-2.0
// The scalars of a run as curves, and what of them a drawing of a few hundred points shows. [any thread]
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "belay/better.h"

namespace belay::runtime {

struct CurvePoint {
  std::int64_t step = 0;
  double value = 0;
};

// One tag of one folder with event files.
struct Curve {
  std::string folder;  // "." or one below: "eval"
  std::string tag;
  std::vector<CurvePoint> points;  // by step
};

// "loss" of the folder "eval" is "eval/loss", as the roles of a manifest call it.
std::string metric_name(const Curve& curve);

// None where there is no point. It may be one that is not finite.
std::optional<CurvePoint> last_of(const Curve& curve);
// The first step of those at the end whose values are not finite; none: the last value is finite.
std::optional<std::int64_t> not_finite_since(const Curve& curve);
// Only finite values count, and the first of equal ones. Without a finite value there is none.
std::optional<CurvePoint> best_of(const Curve& curve, Better better);
std::size_t not_finite(const Curve& curve);

// Several points of a curve as one of a drawing: so a spike of one step is seen among a hundred thousand.
struct DrawnPoint {
  double step = 0;   // the mean
  double value = 0;  // the mean
  double low = 0, high = 0;
};
// At most so many, each of steps as far apart as the others'; one for each point where they suffice.
std::vector<DrawnPoint> thinned(const Curve& curve, std::size_t at_most);

}  // namespace belay::runtime
