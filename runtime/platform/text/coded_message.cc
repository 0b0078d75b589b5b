// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/text/coded_message.h"

#include <algorithm>
#include <utility>

namespace belay::runtime {
namespace {

constexpr std::size_t kCodeSize = 5;                // B4102
constexpr std::size_t kMarkSize = kCodeSize + 3;    // "[B4102] "
constexpr std::string_view kDigits = "0123456789";  // of a code

bool is_mark(std::string_view text) {
  return text.size() >= kMarkSize && text.starts_with("[B") &&
         text.substr(2, kCodeSize - 1).find_first_not_of(kDigits) == text.npos && text.substr(kCodeSize + 1, 2) == "] ";
}

// Whether a text of the host or of a plugin can begin after these words of a line. Names and values of users are in
// quotes, or in the middle of a sentence.
bool can_come_after(std::string_view before) {
  return before.ends_with(": ") || before.find_first_not_of(' ') == before.npos;
}

// Takes the codes out of one line.
CodedMessage take_code_of_line(std::string_view line) {
  CodedMessage found;
  std::size_t kept = 0;  // bytes of the line that are in the text or were taken out
  for (std::size_t at = line.find("[B"); at != line.npos; at = line.find("[B", at + 1)) {
    const bool follows_mark = at == kept && at != 0;
    if (!is_mark(line.substr(at)) || !(follows_mark || can_come_after(line.substr(0, at)))) continue;
    found.code = line.substr(at + 1, kCodeSize);
    found.text += line.substr(kept, at - kept);
    kept = at + kMarkSize;
  }
  found.text += line.substr(kept);
  return found;
}

// Returns "  B4102: text" of the line "  text".
std::string with_code_before(CodedMessage line) {
  if (line.code.empty()) return std::move(line.text);
  const std::size_t indent = std::min(line.text.find_first_not_of(' '), line.text.size());
  return line.text.insert(indent, line.code + ": ");
}

// Calls f with each line, and adds the ends of lines to the text.
template <class F>
void each_line(std::string_view message, std::string& text, F&& f) {
  for (std::size_t at = 0; at <= message.size();) {
    const std::size_t end = std::min(message.find('\n', at), message.size());
    if (at != 0) text += '\n';
    f(take_code_of_line(message.substr(at, end - at)));
    at = end + 1;
  }
}

}  // namespace

CodedMessage take_code(std::string_view message) {
  CodedMessage found;
  each_line(message, found.text, [&](CodedMessage line) {
    if (found.code.empty()) {
      found.code = std::move(line.code);
      found.text += line.text;
    } else {
      found.text += with_code_before(std::move(line));
    }
  });
  return found;
}

std::string shown_code(std::string_view message) {
  std::string shown;
  each_line(message, shown, [&](CodedMessage line) { shown += with_code_before(std::move(line)); });
  return shown;
}

std::string coded_line(std::string_view level, std::string_view message) {
  const CodedMessage found = take_code(message);
  return std::string(level) + (found.code.empty() ? ": " : "[" + found.code + "]: ") + found.text;
}

std::string error_line(std::string_view message) { return coded_line("error", message); }

}  // namespace belay::runtime
