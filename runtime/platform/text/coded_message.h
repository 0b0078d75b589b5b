// SPDX-License-Identifier: Apache-2.0
// The stable code of a kind of problem in the message of an error: "[B4102] model.bin has another checksum". [any
// thread]
//
// The source writes the code before its message. There it survives each way of a message: exceptions, texts around
// it, the boundary of plugins. The last place that shows the message takes the code out: `error[B4102]: ...`, and
// "code" in JSON. docs/reference/codes.md explains each code.
#pragma once

#include <string>
#include <string_view>

namespace belay::runtime {

struct CodedMessage {
  std::string code;  // "B4102"; empty: the message has none
  std::string text;  // without the code
};

// Takes the codes out of a message. A code is at the start of a line or after ": "; the same text elsewhere is a part
// of a name or a value. In a line the last code counts: it is that of the cause, and those before it are of the texts
// around the cause. The code is that of the first line that has one. Other lines keep theirs in front: "B4018: text".
CodedMessage take_code(std::string_view message);

// Returns "B4102: text" for a cell of a table or a part of a page. Lines without a code stay as they are.
std::string shown_code(std::string_view message);

// Returns "warning[B4102]: text", or "warning: text" for a message without a code.
std::string coded_line(std::string_view level, std::string_view message);

// Returns the line of the level "error".
std::string error_line(std::string_view message);

}  // namespace belay::runtime
