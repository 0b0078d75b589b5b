// SPDX-License-Identifier: Apache-2.0
// A regular expression that names are chosen by, as warm_start's `vars`: it must match from a name's start. Names come
// from files of others, so RE2 matches them: its stack and its time are bounded, however long a name is.
#pragma once

#include <re2/re2.h>

#include <string>
#include <vector>

namespace belay::runtime {

class NamePattern {
 public:
  // Empty: every name. UsageError, with the option's name, if RE2 cannot use the text.
  NamePattern(const std::string& option, const std::string& text);
  bool matches(const std::string& name) const;
  bool matches_all() const { return regex_.pattern().empty(); }
  // NOT_FOUND: no `thing` ("tensor") of these names is matched, with the nearest name, and as many of them as are read.
  [[noreturn]] void fail_unmatched(const std::string& thing, std::vector<std::string> names) const;

 private:
  const std::string option_;
  RE2 regex_;
};

}  // namespace belay::runtime
