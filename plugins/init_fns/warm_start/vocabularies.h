// SPDX-License-Identifier: Apache-2.0
// A table whose rows belong to tokens, taken from one with another vocabulary.
#pragma once

#include <belay/options.h>
#include <belay/session.h>
#include <belay/tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace warm_start {

// The option `vocabularies`: a list of { variable = "...", new = "FILE", old = "FILE", axis = 0 }.
class Vocabularies {
 public:
  // Looks for the files, without reading them. INVALID_ARGUMENT for a variable that has two entries.
  explicit Vocabularies(const belay::Table& table);

  struct Entry {
    std::string place;
    std::string variable;
    std::string new_path, old_path;
    std::int64_t axis = 0;
    bool used = false;
  };
  // Null where the variable has none. It counts as used.
  const Entry* find(const std::string& variable);
  // A sentence for each that was never found.
  std::vector<std::string> unused(const std::vector<std::string>& chosen) const;

 private:
  std::vector<Entry> entries_;
};

struct Remapped {
  belay::Tensor value;
  std::int64_t found = 0;
  std::int64_t tokens = 0;
};

// The variable's value with the row (axis 1: column) of each token that the old vocabulary has, too, replaced by that
// token's row of `old`; the others keep what `now` has. INVALID_ARGUMENT where shapes and vocabularies do not fit.
Remapped remap(const Vocabularies::Entry& entry, const belay::VariableInfo& variable, const belay::Tensor& old,
               belay::Tensor now);

}  // namespace warm_start
