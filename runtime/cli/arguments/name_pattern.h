// SPDX-License-Identifier: Apache-2.0
// A regular expression that chooses names, as the option `vars` of warm_start does. It must match from a name's start.
// Names may come from other people's files. RE2 matches them, since its stack and its time are bounded for names of any
// length.
#pragma once

#include <re2/re2.h>

#include <string>
#include <vector>

namespace belay::runtime {

class NamePattern {
 public:
  // An empty pattern matches every name. UsageError, with the option's name, if RE2 cannot use the pattern.
  NamePattern(const std::string& option, const std::string& text);
  bool matches(const std::string& name) const;
  bool matches_all() const { return regex_.pattern().empty(); }
  // NOT_FOUND if no `thing` ("tensor") of these names matches. The error has the nearest name and the first 20 names.
  [[noreturn]] void fail_unmatched(const std::string& thing, std::vector<std::string> names) const;

 private:
  const std::string option_;
  RE2 regex_;
};

}  // namespace belay::runtime
