// SPDX-License-Identifier: Apache-2.0
// An option's value as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <type_traits>
#include <variant>

#include "runtime/manifest/manifest.h"

namespace belay::runtime {

inline nlohmann::ordered_json option_json(const OptionValue& value) {
  return std::visit(
      [](const auto& v) -> nlohmann::ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>) {
          return nlohmann::ordered_json::array();
        } else {
          return v;
        }
      },
      value);
}

}  // namespace belay::runtime
