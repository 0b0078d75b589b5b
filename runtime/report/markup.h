// SPDX-License-Identifier: Apache-2.0
// What a page and its drawings are written with. Everything that comes from files or from a user goes through html():
// tags, paths and options may hold anything. [any thread]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::runtime {

// For text and for attributes in double quotes. Control characters and bytes that are no UTF-8 are spelled out as in a
// message (text.h); `keep_lines` leaves newlines as they are.
std::string html(std::string_view text, bool keep_lines = false);

// For people: five digits, "0.00312", "1.2e-07", "nan".
std::string rounded_number(double number);
// "203,530"
std::string grouped_number(std::int64_t number);
// A count in at most four characters and a unit: "2.4 M".
std::string short_count(double count);
// "8.2 s", "3 min 20 s", "2 h 5 min"
std::string duration_text(double seconds);
// "2026-01-31 12:00:00", UTC; empty where the number is no time.
std::string moment_text(double seconds_since_1970);

// A coordinate of a drawing: one digit behind the point, and none that says nothing.
void add_coordinate(std::string& out, double at);

std::string base64(std::string_view bytes);

}  // namespace belay::runtime
