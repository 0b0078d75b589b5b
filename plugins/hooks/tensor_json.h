// SPDX-License-Identifier: Apache-2.0
// Formats a tensor as JSON: nested lists, row by row. NaN and the infinities are strings, since JSON has no numbers for
// them.
#pragma once

#include <belay/plugin.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

inline nlohmann::ordered_json json_of_element(const belay::TensorView& t, std::size_t i) {
  if (t.dtype() == belay::DType::kString) return std::string(t.text(i));
  if (t.dtype() == belay::DType::kBool) return t.number(i) != 0;
  if (t.dtype() == belay::DType::kInt64) return t.data<const std::int64_t>()[i];
  const double v = t.number(i);
  if (std::isfinite(v)) return v;
  return std::isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity";
}

// Formats the part of a tensor from `axis` on that begins at the element `next`. It moves `next` to the end of the
// part.
inline nlohmann::ordered_json json_of_tensor(const belay::TensorView& t, std::int32_t axis, std::size_t& next) {
  if (axis == t.rank()) return json_of_element(t, next++);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::int64_t i = 0; i < t.dim(axis); ++i) list.push_back(json_of_tensor(t, axis + 1, next));
  return list;
}
