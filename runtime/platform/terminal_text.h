// SPDX-License-Identifier: Apache-2.0
// JSON and CSV that may be printed on a terminal: names in them come from files of others.
#pragma once

#include <string>
#include <string_view>

namespace belay::runtime {

// JSON as a library wrote it, with \u009b in place of what a terminal obeys; newlines between values stay.
std::string shown_json(const std::string& json);

// Appends a cell of a CSV file, in quotes where it needs them, an empty one too. What a terminal obeys is escaped, but
// for line ends and tabs; bytes that are no UTF-8 stay.
void append_csv_cell(std::string& out, std::string_view text);

}  // namespace belay::runtime
