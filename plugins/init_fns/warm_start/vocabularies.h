// SPDX-License-Identifier: Apache-2.0
// Takes a table with a row for each token from a table with another vocabulary.
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
  // Checks that the files exist, without reading them. INVALID_ARGUMENT: a variable has two entries.
  explicit Vocabularies(const belay::Table& table);

  struct Entry {
    std::string place;
    std::string variable;
    std::string new_path, old_path;
    std::int64_t axis = 0;
    bool used = false;
  };
  // Returns the variable's entry and marks it as used. Null: there is none.
  const Entry* find(const std::string& variable);
  // Returns a sentence for each entry that was never found.
  std::vector<std::string> unused(const std::vector<std::string>& chosen) const;

 private:
  std::vector<Entry> entries_;
};

struct Remapped {
  belay::Tensor value;
  std::int64_t found = 0;
  std::int64_t tokens = 0;
};

// Returns `now` with the rows of those tokens replaced that the old vocabulary has, too. They come from `old`; axis 1
// means columns. INVALID_ARGUMENT: shapes and vocabularies do not fit.
Remapped remap(const Vocabularies::Entry& entry, const belay::VariableInfo& variable, const belay::Tensor& old,
               belay::Tensor now);

}  // namespace warm_start
