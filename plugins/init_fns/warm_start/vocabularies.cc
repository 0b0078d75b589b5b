// SPDX-License-Identifier: Apache-2.0
#include "vocabularies.h"

#include <belay/data_file.h>
#include <belay/error.h>
#include <belay/nearest.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "../name_patterns.h"
#include "../token_file.h"
#include "table_entries.h"

namespace warm_start {
namespace {

using belay::Code;
using belay::fail;

std::string option_of(const Vocabularies::Entry& entry, const char* key) {
  return entry.place.substr(1, entry.place.size() - 2) + "." + key;
}

// Reads the tokens of the option `key`. `what` has a row for each of them.
init_fns::TokenFile tokens_of(const Vocabularies::Entry& entry, const char* key, const std::string& path,
                              const std::string& what, const belay::Dims& dims) {
  const std::int64_t rows = dims[static_cast<std::size_t>(entry.axis)];
  init_fns::TokenFile tokens(option_of(entry, key), path, rows);
  if (tokens.size() > rows)
    fail(Code::kInvalidArgument, option_of(entry, key) + ": '" + path + "' has more tokens than dimension " +
                                     std::to_string(entry.axis) + " of " + what + ", which is " + std::to_string(rows) +
                                     "; give the vocabulary that belongs to it");
  return tokens;
}

// True if all dimensions but the axis agree.
bool same_but(std::int64_t axis, const belay::Dims& a, const belay::Dims& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && static_cast<std::int64_t>(i) != axis) return false;
  return true;
}

// A tensor as `outer` blocks of `rows` rows of `bytes` bytes each.
struct Rows {
  std::size_t outer = 1, rows = 0, bytes = 0;
  Rows(const belay::Dims& dims, std::int64_t axis, std::size_t element) : bytes(element) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const auto n = static_cast<std::size_t>(dims[i]);
      if (static_cast<std::int64_t>(i) < axis) outer *= n;
      if (static_cast<std::int64_t>(i) == axis) rows = n;
      if (static_cast<std::int64_t>(i) > axis) bytes *= n;
    }
  }
  std::size_t at(std::size_t block, std::int64_t row) const {
    return (block * rows + static_cast<std::size_t>(row)) * bytes;
  }
};

}  // namespace

Vocabularies::Vocabularies(const belay::Table& table) {
  for (const TableEntry& given : entries_of("vocabularies", table)) {
    Entry entry{given.place(),
                std::string(given.required_text("variable")),
                std::string(given.required_text("new")),
                std::string(given.required_text("old")),
                0,
                false};
    if (const std::vector<std::int64_t> axis = given.integers("axis"); !axis.empty()) entry.axis = axis[0];
    for (const Entry& other : entries_)
      if (other.variable == entry.variable)
        fail(Code::kInvalidArgument,
             entry.place + " and " + other.place + " are both for '" + entry.variable + "'; take one of them out");
    belay::data_file_size(option_of(entry, "new"), entry.new_path);
    belay::data_file_size(option_of(entry, "old"), entry.old_path);
    entries_.push_back(std::move(entry));
  }
}

const Vocabularies::Entry* Vocabularies::find(const std::string& variable) {
  for (Entry& entry : entries_) {
    if (entry.variable != variable) continue;
    entry.used = true;
    return &entry;
  }
  return nullptr;
}

std::vector<std::string> Vocabularies::unused(const std::vector<std::string>& chosen) const {
  std::vector<std::string> all;
  for (const Entry& entry : entries_)
    if (!entry.used)
      all.push_back(entry.place + " is for '" + entry.variable + "', which is no chosen variable" +
                    belay::did_you_mean(entry.variable, chosen) + "; these are: " + init_fns::joined(chosen));
  return all;
}

Remapped remap(const Vocabularies::Entry& entry, const belay::VariableInfo& variable, const belay::Tensor& old,
               belay::Tensor now) {
  const auto rank = static_cast<std::int64_t>(variable.dims.size());
  if (entry.axis >= rank || !same_but(entry.axis, old.dims(), variable.dims))
    fail(Code::kInvalidArgument, "variable '" + variable.name + "' is " + belay::dims_text(variable.dims) +
                                     ", its tensor is " + belay::dims_text(old.dims()) + "; with " + entry.place +
                                     " they may differ in dimension " + std::to_string(entry.axis) + " alone");
  const init_fns::TokenFile ours =
      tokens_of(entry, "new", entry.new_path, "variable '" + variable.name + "'", variable.dims);
  const init_fns::TokenFile theirs = tokens_of(entry, "old", entry.old_path, "its tensor", old.dims());
  const std::size_t element = belay::dtype_size(variable.dtype);
  const Rows to(variable.dims, entry.axis, element), from(old.dims(), entry.axis, element);
  Remapped result{std::move(now), 0, ours.size()};
  auto* out = static_cast<char*>(result.value.view().data);
  const auto* in = static_cast<const char*>(old.view().data);
  for (std::int64_t row = 0; row < ours.size(); ++row) {
    const std::optional<std::int64_t> before = theirs.row_of(ours.tokens()[static_cast<std::size_t>(row)]);
    if (!before) continue;
    ++result.found;
    for (std::size_t block = 0; block < to.outer; ++block)
      std::memcpy(out + to.at(block, row), in + from.at(block, *before), to.bytes);
  }
  return result;
}

}  // namespace warm_start
