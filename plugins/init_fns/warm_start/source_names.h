// SPDX-License-Identifier: Apache-2.0
// Which tensor of the checkpoint each variable is taken from.
#pragma once

#include <belay/options.h>

#include <optional>
#include <string>
#include <vector>

namespace warm_start {

struct Source {
  std::string tensor;
  std::string rule;  // the option that says so, "'names'" or "'scopes.0'": then it must be there; empty: its own name
};

// By the variable's name in `names`, else by the longest `to` of `scopes` that the name begins with, else by its own
// name. Where there are scopes a variable outside all of them has no source.
class SourceNames {
 public:
  // INVALID_ARGUMENT for a scope that does not end in '/', and for two scopes with the same `to`.
  SourceNames(const belay::Table& names, const belay::Table& scopes);

  // Nothing: the variable is not to be touched. What says so counts as used where `chosen`.
  std::optional<Source> of(const std::string& variable, bool chosen);
  // Whether a tensor lies where variables are taken from.
  bool covers(const std::string& tensor) const;
  // A sentence for each name and scope that was used for no chosen variable. `chosen`: their names.
  std::vector<std::string> unused(const std::vector<std::string>& chosen) const;

 private:
  struct Name {
    std::string variable;
    std::string tensor;
    bool used = false;
  };
  // Without the '/' of the root: a prefix of names.
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
