// SPDX-License-Identifier: Apache-2.0
// Finds the tensor of the checkpoint for each variable.
#pragma once

#include <belay/options.h>

#include <optional>
#include <string>
#include <vector>

namespace warm_start {

struct Source {
  std::string tensor;
  std::string rule;  // the option that maps it, "'names'" or "'scopes.0'": it must exist; empty: the variable's name
};

// A variable takes the tensor of its entry in `names`. Otherwise the longest `to` of `scopes` that begins its name
// counts, else its name. If there are scopes, a variable outside of all has no source.
class SourceNames {
 public:
  // INVALID_ARGUMENT: a scope does not end in '/', or two scopes have the same `to`.
  SourceNames(const belay::Table& names, const belay::Table& scopes);

  // Returns the source; none: the variable keeps its value. If it is `chosen`, the rule counts as used.
  std::optional<Source> of(const std::string& variable, bool chosen);
  // True if variables may be taken from this tensor's scope.
  bool covers(const std::string& tensor) const;
  // Returns a sentence for each name and scope that no chosen variable used. `chosen` has their names.
  std::vector<std::string> unused(const std::vector<std::string>& chosen) const;

 private:
  struct Name {
    std::string variable;
    std::string tensor;
    bool used = false;
  };
  // Prefixes of names, without the '/' of the root.
  struct Scope {
    std::string place;
    std::string from;
    std::string to;
    bool used = false;
  };
  Scope* scope_of(const std::string& variable);

  std::vector<Name> names_;
  std::vector<Scope> scopes_;
};

}  // namespace warm_start
