// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/options/option_path.h"

#include <algorithm>

#include "belay/detail/nested_name.h"

namespace belay::runtime {
namespace {

// Takes the first part off.
std::string_view take_part(std::string_view& path) {
  const std::size_t dot = path.find('.');
  const std::string_view part = path.substr(0, dot);
  path = dot == path.npos ? std::string_view() : path.substr(dot + 1);
  return part;
}

bool is_index(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool path_matches(std::string_view name, std::string_view key) {
  if (name.empty() || key.empty()) return name.empty() && key.empty();
  const std::string_view part = take_part(name);
  if (part == "*") {
    if (name.empty()) return true;
    while (!key.empty()) {
      take_part(key);
      if (path_matches(name, key)) return true;
    }
    return false;
  }
  const std::string_view bare = detail::without_brackets(part);
  if (take_part(key) != bare) return false;
  if (bare.size() != part.size() && !is_index(take_part(key))) return false;
  return path_matches(name, key);
}

std::string table_of_key(std::string_view name, std::string_view key) {
  if (detail::key_of(name) != "*") return std::string(key.substr(0, key.rfind('.')));
  const std::string_view table = detail::table_of(name);
  std::size_t dot = key.find('.');
  while (dot != key.npos && !path_matches(table, key.substr(0, dot))) dot = key.find('.', dot + 1);
  return std::string(key.substr(0, dot));
}

}  // namespace belay::runtime
