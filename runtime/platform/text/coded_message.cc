// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/text/coded_message.h"

namespace belay::runtime {
namespace {

constexpr std::size_t kCodeSize = 5;                // B4102
constexpr std::size_t kMarkSize = kCodeSize + 3;    // "[B4102] "
constexpr std::string_view kDigits = "0123456789";  // of a code

bool is_mark(std::string_view text) {
  return text.size() >= kMarkSize && text.starts_with("[B") &&
         text.substr(2, kCodeSize - 1).find_first_not_of(kDigits) == text.npos && text.substr(kCodeSize + 1, 2) == "] ";
}

}  // namespace

CodedMessage take_code(std::string_view message) {
  CodedMessage found;
  std::size_t kept = 0;  // bytes of the message that are in the text or were taken out
  for (std::size_t at = message.find("[B"); at != message.npos; at = message.find("[B", at + 1)) {
    if (!is_mark(message.substr(at)) || (at != 0 && message[at - 1] != ' ')) continue;
    found.code = message.substr(at + 1, kCodeSize);
    found.text += message.substr(kept, at - kept);
    kept = at + kMarkSize;
  }
  found.text += message.substr(kept);
  return found;
}

std::string error_line(std::string_view message) {
  const CodedMessage found = take_code(message);
  return (found.code.empty() ? "error: " : "error[" + found.code + "]: ") + found.text;
}

}  // namespace belay::runtime
