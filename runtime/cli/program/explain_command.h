// SPDX-License-Identifier: Apache-2.0
// `belay explain [CODE]`: the section of docs/reference/codes.md about a code of an error, or a list of all codes. The
// page is in the program.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace belay::runtime {

struct ExplainedCode {
  std::string code;   // "B1003"
  std::string title;  // "an unknown key"
  std::string text;   // the rest of the section, from the empty line after the title
};

// Returns the sections of the page in its order.
std::vector<ExplainedCode> explained_codes(const std::string& page);

// Prints the section of a code. It may be in lower case, or in brackets as messages show it: "error[B1003]". Throws
// UsageError for a code that the page does not have.
int explain_command(const std::string& given, std::ostream& out);

// Prints a line for each code.
int list_codes(std::ostream& out);

}  // namespace belay::runtime
