// SPDX-License-Identifier: Apache-2.0
// Names of options: a key of a plugin's table, or the path of keys below it, "layers[].units", "features.*.dtype".
#pragma once

#include <cstddef>
#include <string_view>

namespace belay {
inline namespace v0 {
namespace detail {

// True for a key of TOML that needs no quotes. A dot would make it a key of a table.
constexpr bool is_option_name(std::string_view name) {
  for (const char c : name)
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-'))
      return false;
  return !name.empty();
}

// "layers" of "layers[]".
constexpr std::string_view without_brackets(std::string_view part) {
  const bool list = part.size() > 2 && part.substr(part.size() - 2) == "[]";
  return list ? part.substr(0, part.size() - 2) : part;
}

// True for KEY, KEY[] and *, with dots between: a KEY first, a KEY or * last, two parts at least, two * at most.
constexpr bool is_nested_name(std::string_view name) {
  bool first = true;
  int stars = 0;
  for (;;) {
    const std::size_t dot = name.find('.');
    const bool last = dot == std::string_view::npos;
    const std::string_view part = last ? name : name.substr(0, dot);
    stars += part == "*" ? 1 : 0;
    if ((last && first) || stars > 2) return false;
    if (!(part == "*" && !first) && !is_option_name(last ? part : without_brackets(part))) return false;
    if (last) return true;
    first = false;
    name = name.substr(dot + 1);
  }
}

// The option of the kind table in a nested name: "layers".
constexpr std::string_view option_of(std::string_view nested) {
  return without_brackets(nested.substr(0, nested.find('.')));
}
// The table that has the key, "layers[]", and the key in it, "units".
constexpr std::string_view table_of(std::string_view nested) { return nested.substr(0, nested.rfind('.')); }
constexpr std::string_view key_of(std::string_view nested) { return nested.substr(nested.rfind('.') + 1); }

}  // namespace detail
}  // namespace v0
}  // namespace belay
