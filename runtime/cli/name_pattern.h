// SPDX-License-Identifier: Apache-2.0
// A regular expression that names are chosen by, as warm_start's `vars`: it must match from a name's start.
#pragma once

#include <regex>
#include <string>

namespace belay::runtime {

class NamePattern {
 public:
  // Empty: every name. UsageError, with the option's name, where it is no regular expression.
  NamePattern(const std::string& option, const std::string& text);
  bool matches(const std::string& name) const;

 private:
  bool all_;
  std::regex regex_;
};

}  // namespace belay::runtime
