// SPDX-License-Identifier: Apache-2.0
// The scalars of a run as curves, and their reduction to a drawing of a few hundred points. [any thread]
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

// Returns "eval/loss" for "loss" of the folder "eval", like the roles of a manifest.
std::string metric_name(const Curve& curve);

// Returns none if there is no point. The point may not be finite.
std::optional<CurvePoint> last_of(const Curve& curve);
// Returns the first step of the values that are not finite up to the end. None: the last value is finite.
std::optional<std::int64_t> not_finite_since(const Curve& curve);
// Counts only finite values; of equal ones the first is best. None: no value is finite.
std::optional<CurvePoint> best_of(const Curve& curve, Better better);
std::size_t not_finite(const Curve& curve);

// Several points of a curve in one point of a drawing. So a spike of one step shows among a hundred thousand.
struct DrawnPoint {
  double step = 0;   // the mean
  double value = 0;  // the mean
  double low = 0, high = 0;
};
// Returns at most this number of points, at equal distances in steps. If the points are few, each stays.
std::vector<DrawnPoint> thinned(const Curve& curve, std::size_t at_most);

}  // namespace belay::runtime
