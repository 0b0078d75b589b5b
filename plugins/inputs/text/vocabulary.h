// SPDX-License-Identifier: Apache-2.0
// The known characters and their ids 0, 1, ... in the order of their code points. So the ids depend only on the set of
// characters. A vocabulary that a training learned keeps its ids.
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
  static Vocabulary of_bytes();  // 256 ids: the values of the bytes
  // Takes the result of names(), in any order. None: a name is no character.
  static std::optional<Vocabulary> of_names(const std::vector<std::string>& names);

  // Adds characters; the ids may change.
  void add(const std::u32string& characters);

  std::int64_t size() const { return static_cast<std::int64_t>(characters_.size()); }
  std::optional<std::int32_t> id_of(char32_t character) const {
    if (character >= ids_.size() || ids_[character] < 0) return std::nullopt;
    return ids_[character];
  }

  // Returns by id each character in UTF-8, or each byte unchanged.
  std::vector<std::string> names() const;

  // Writes a JSON list of strings, the one at index i for id i. Bytes from 128 up are written as the characters of
  // these code points. The file appears whole or not at all. `option` is the option that named it.
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
