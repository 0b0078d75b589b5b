// Text for messages: escaping, and the nearest known name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace belay::runtime {

// Control characters, newlines, terminal escapes and bytes that are no UTF-8 as \n, \x1b, \xff ...; the rest unchanged.
std::string escaped(std::string_view text);

// The candidate nearest to `name` by edit distance (insert, delete, replace, swap of neighbours), at most 3 and at most a
// third of the longer name, never less than 1; empty where none is near. Ties: the first.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

// ` (did you mean "x"?)`, or empty.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

// "a, b, c"
std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ");

}  // namespace belay::runtime
