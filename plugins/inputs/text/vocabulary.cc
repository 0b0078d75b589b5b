// SPDX-License-Identifier: Apache-2.0
#include "vocabulary.h"

#include <belay/error.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "text_file.h"

namespace text_input {
namespace {

using belay::Code;
using belay::fail;

std::string json_text(char32_t character) {
  if (character == '"' || character == '\\') return {'"', '\\', static_cast<char>(character), '"'};
  if (character >= 0x20 && character != 0x7f) return '"' + utf8(character) + '"';
  char text[16];
  std::snprintf(text, sizeof(text), "\"\\u%04x\"", static_cast<unsigned>(character));
  return text;
}

}  // namespace

Vocabulary Vocabulary::of_bytes() {
  Vocabulary vocabulary;
  vocabulary.bytes_ = true;
  for (char32_t byte = 0; byte < 256; ++byte) vocabulary.characters_.push_back(byte);
  vocabulary.number();
  return vocabulary;
}

std::optional<Vocabulary> Vocabulary::of_names(const std::vector<std::string>& names) {
  Vocabulary vocabulary;
  for (const std::string& name : names) {
    const std::optional<char32_t> character = only_character(name);
    if (!character) return std::nullopt;
    vocabulary.characters_.push_back(*character);
  }
  vocabulary.number();
  return vocabulary;
}

void Vocabulary::add(const std::u32string& characters) {
  characters_ += characters;
  std::sort(characters_.begin(), characters_.end());
  characters_.erase(std::unique(characters_.begin(), characters_.end()), characters_.end());
  number();
}

void Vocabulary::number() {
  const auto last = std::max_element(characters_.begin(), characters_.end());
  ids_.assign(last == characters_.end() ? 0 : std::size_t{*last} + 1, -1);
  std::int32_t id = 0;
  for (const char32_t character : characters_) ids_[character] = id++;
}

std::vector<std::string> Vocabulary::names() const {
  std::vector<std::string> all;
  all.reserve(characters_.size());
  for (const char32_t character : characters_)
    all.push_back(bytes_ ? std::string(1, static_cast<char>(static_cast<unsigned char>(character))) : utf8(character));
  return all;
}

void Vocabulary::write(std::string_view option, const std::string& path) const {
  const std::string temporary = path + ".tmp";
  std::ofstream file(temporary, std::ios::binary);
  for (std::size_t i = 0; i < characters_.size(); ++i) file << (i == 0 ? "[" : ",\n") << json_text(characters_[i]);
  file << "]\n";
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);
    std::remove(temporary.c_str());
    fail(Code::kInvalidArgument, "[B3033] " + std::string(option) + ": '" + path + "' cannot be written: " + reason);
  }
}

std::string shown(char32_t character) {
  char text[16];
  std::snprintf(text, sizeof(text), "U+%04X", static_cast<unsigned>(character));
  return character < 0x20 || character == 0x7f ? text : '"' + utf8(character) + "\" (" + text + ")";
}

}  // namespace text_input
