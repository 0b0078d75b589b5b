// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/arguments/name_pattern.h"

#include <fmt/core.h>

#include "belay/error.h"
#include "belay/nearest.h"
#include "runtime/cli/arguments/command.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

NamePattern::NamePattern(const std::string& option, const std::string& text)
    : option_(option), regex_(text, RE2::Quiet) {
  if (!regex_.ok())
    throw UsageError(fmt::format("[B5004] {} is \"{}\", which is no regular expression: {}", option, escaped(text),
                                 escaped(regex_.error())));
}

bool NamePattern::matches(const std::string& name) const {
  return regex_.Match(name, 0, name.size(), RE2::ANCHOR_START, nullptr, 0);
}

void NamePattern::fail_unmatched(const std::string& thing, std::vector<std::string> names) const {
  constexpr std::size_t kMost = 20, kLongest = 100;
  const std::string near = did_you_mean(regex_.pattern(), names);
  const std::size_t more = names.size() > kMost ? names.size() - kMost : 0;
  names.resize(names.size() - more);
  for (std::string& name : names)
    if (name.size() > kLongest) name = fmt::format("{}... ({} bytes)", name.substr(0, kLongest), name.size());
  fail(Code::kNotFound,
       fmt::format("[B5005] {}: no {} is matched by {}{}{}", option_, thing, single_quoted(regex_.pattern()), near,
                   names.empty() ? "; there are no " + thing + "s"
                                 : "; there are: " + escaped(joined(names)) +
                                       (more == 0 ? "" : " and " + std::to_string(more) + " more")));
}

}  // namespace belay::runtime
