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

// Takes the codes out of a message. A code is at the start, or after a space of a text around it. The last one counts:
// it is that of the cause, and those before it are of the texts around the cause.
CodedMessage take_code(std::string_view message);

// Returns "error[B4102]: text", or "error: text" for a message without a code.
std::string error_line(std::string_view message);

}  // namespace belay::runtime
