// SPDX-License-Identifier: Apache-2.0
// Writes JSON and CSV that may be printed on a terminal. Their names come from foreign files.
#pragma once

#include <string>
#include <string_view>

namespace belay::runtime {

// Returns JSON from a library, with \u009b and the like for characters that a terminal obeys. Newlines between values
// stay.
std::string shown_json(const std::string& json);

// Appends a cell of a CSV file, in quotes if it needs them; an empty one gets quotes, too. Characters that a terminal
// obeys are escaped, except line ends and tabs. Bytes that are no UTF-8 stay.
void append_csv_cell(std::string& out, std::string_view text);

}  // namespace belay::runtime
