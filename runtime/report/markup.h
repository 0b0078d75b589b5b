// SPDX-License-Identifier: Apache-2.0
// Writes the text of a page and its drawings. All text from files or from a user is passed through html(). Tags, paths
// and options may have any characters. [any thread]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::runtime {

// Escapes text, also for attributes in double quotes. Control characters and bytes that are no UTF-8 are shown as in a
// message (text.h). `keep_lines` keeps newlines.
std::string html(std::string_view text, bool keep_lines = false);

// Formats for people with five digits: "0.00312", "1.2e-07", "nan".
std::string rounded_number(double number);
// Returns "203,530".
std::string grouped_number(std::int64_t number);
// Formats a count in at most four characters and a unit: "2.4 M".
std::string short_count(double count);
// Returns "8.2 s", "3 min 20 s" or "2 h 5 min".
std::string duration_text(double seconds);
// Returns "2026-01-31 12:00:00", UTC. Empty: the number is no time.
std::string moment_text(double seconds_since_1970);

// Adds a coordinate of a drawing with one digit after the point, or none if it is zero.
void add_coordinate(std::string& out, double at);

std::string base64(std::string_view bytes);

}  // namespace belay::runtime
