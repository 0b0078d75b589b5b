// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/name_pattern.h"

#include "runtime/cli/command_line.h"
#include "runtime/platform/text.h"

namespace belay::runtime {

NamePattern::NamePattern(const std::string& option, const std::string& text) : regex_(text, RE2::Quiet) {
  if (!regex_.ok())
    throw UsageError(option + " is \"" + escaped(text) +
                     "\", which is no regular expression: " + escaped(regex_.error()));
}

bool NamePattern::matches(const std::string& name) const {
  return regex_.Match(name, 0, name.size(), RE2::ANCHOR_START, nullptr, 0);
}

}  // namespace belay::runtime
