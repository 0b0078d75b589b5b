// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/name_pattern.h"

#include "runtime/cli/command_line.h"
#include "runtime/platform/text.h"

namespace belay::runtime {

NamePattern::NamePattern(const std::string& option, const std::string& text) : all_(text.empty()) {
  // std::regex takes stack for each character.
  constexpr std::size_t kLongest = 1000;
  if (text.size() > kLongest)
    throw UsageError(option + " has " + std::to_string(text.size()) + " characters; at most 1000 are allowed");
  try {
    regex_.assign(text);
  } catch (const std::regex_error& e) {
    throw UsageError(option + " is \"" + escaped(text) + "\", which is no regular expression: " + e.what());
  }
}

bool NamePattern::matches(const std::string& name) const {
  return all_ || std::regex_search(name, regex_, std::regex_constants::match_continuous);
}

}  // namespace belay::runtime
