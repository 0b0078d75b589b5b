// SPDX-License-Identifier: Apache-2.0
// Which characters there are, and their ids: 0, 1, ... in the order of their code points, so that the ids depend on the
// set of characters alone. Those of a vocabulary that a training learned stay as they were.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace text_input {

class Vocabulary {
 public:
  Vocabulary() = default;
  static Vocabulary of_bytes();  // 256 ids: the bytes' values
  // As names() returned it, in any order; none where a name is no character.
  static std::optional<Vocabulary> of_names(const std::vector<std::string>& names);

  // Adds characters; the ids may change.
  void add(const std::u32string& characters);

  std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()); }
  std::optional<std::int32_t> id_of(char32_t character) const {
    if (character >= ids_.size() || ids_[character] < 0) return std::nullopt;
    return ids_[character];
  }

  // By id: each character in UTF-8, or each byte as it is.
  std::vector<std::string> names() const;

  // Writes a JSON list of strings, the one at index i for id i; bytes from 128 up as the characters of these code
  // points. The file appears whole or not at all; `option` is the option that named it.
  void write(std::string_view option, const std::string& path) const;

 private:
  bool bytes_ = false;
  std::u32string characters_;      // by id; ascending, unless they came from names
  std::vector<std::int32_t> ids_;  // by character; -1: it has none

  void number();
};

// A character for a message: "x" (U+0078).
std::string shown(char32_t character);

}  // namespace text_input
