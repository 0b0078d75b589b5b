// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/curves.h"

#include <algorithm>
#include <cmath>

namespace belay::runtime {

std::string metric_name(const Curve& curve) { return curve.folder == "." ? curve.tag : curve.folder + "/" + curve.tag; }

std::optional<CurvePoint> last_of(const Curve& curve) {
  return curve.points.empty() ? std::nullopt : std::optional(curve.points.back());
}

std::optional<std::int64_t> not_finite_since(const Curve& curve) {
  std::optional<std::int64_t> since;
  for (auto p = curve.points.rbegin(); p != curve.points.rend() && !std::isfinite(p->value); ++p) since = p->step;
  return since;
}

std::optional<CurvePoint> best_of(const Curve& curve, Better better) {
  std::optional<CurvePoint> best;
  for (const CurvePoint& p : curve.points) {
    if (!std::isfinite(p.value)) continue;
    if (!best || (better == Better::kSmaller ? p.value < best->value : p.value > best->value)) best = p;
  }
  return best;
}

std::size_t not_finite(const Curve& curve) {
  return static_cast<std::size_t>(std::count_if(curve.points.begin(), curve.points.end(),
                                                [](const CurvePoint& p) { return !std::isfinite(p.value); }));
}

std::vector<DrawnPoint> thinned(const Curve& curve, std::size_t at_most) {
  std::vector<DrawnPoint> drawn;
  if (curve.points.empty() || at_most == 0) return drawn;
  const double first = static_cast<double>(curve.points.front().step);
  const double width = (static_cast<double>(curve.points.back().step) - first) / static_cast<double>(at_most);
  const bool all = curve.points.size() <= at_most;
  std::size_t count = 0, bucket = 0;  // of the last one of `drawn`
  for (const CurvePoint& p : curve.points) {
    if (!std::isfinite(p.value)) continue;
    const double step = static_cast<double>(p.step);
    const std::size_t at = all            ? drawn.size() + 1
                           : !(width > 0) ? 0
                                          : std::min(static_cast<std::size_t>((step - first) / width), at_most - 1);
    if (drawn.empty() || at != bucket) {
      drawn.push_back({0, 0, p.value, p.value});
      bucket = at;
      count = 0;
    }
    DrawnPoint& d = drawn.back();
    const double share = 1 / static_cast<double>(++count);
    d.step += (step - d.step) * share;
    d.value += (p.value - d.value) * share;
    d.low = std::min(d.low, p.value);
    d.high = std::max(d.high, p.value);
  }
  return drawn;
}

}  // namespace belay::runtime
