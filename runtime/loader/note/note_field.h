// SPDX-License-Identifier: Apache-2.0
// A value of a note on its way into the structs of note.h.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/loader/note/note.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

using Json = nlohmann::json;

// A part that a later version of abi.h may have. It makes one plugin unusable, not the file.
class UnknownHere : public NoteError {
 public:
  using NoteError::NoteError;
};

// A value of the note that knows its place in it, for messages. It must not outlive its parent.
class NoteField {
 public:
  explicit NoteField(const Json& note) : json_(note) {}

  [[noreturn]] void fail(const std::string& reason) const { throw NoteError(said(reason)); }
  std::string said(const std::string& reason) const { return "\"" + place() + "\" " + reason; }
  const Json& json() const { return json_; }

  std::optional<NoteField> find(const char* key) const {
    if (!json_.is_object()) fail("must be an object");
    const auto it = json_.find(key);
    if (it == json_.end()) return std::nullopt;
    return NoteField(*it, *this, key, 0);
  }
  NoteField get(const char* key) const {
    if (auto field = find(key)) return *field;
    NoteField(json_, *this, key, 0).fail("is missing");
  }
  std::string text() const {
    if (!json_.is_string()) fail("must be a string");
    const auto& text = json_.get_ref<const std::string&>();
    if (text.size() > 64 * 1024) fail("is longer than 64 KiB");
    return text;
  }
  double number() const {
    if (!json_.is_number()) fail("must be a number");
    return json_.get<double>();
  }
  bool boolean() const {
    if (!json_.is_boolean()) fail("must be true or false");
    return json_.get<bool>();
  }
  std::int64_t integer() const {
    if (!json_.is_number_integer() || (json_.is_number_unsigned() && json_.get<std::uint64_t>() > INT64_MAX))
      fail("must be an integer of 64 bits");
    return json_.get<std::int64_t>();
  }
  std::vector<NoteField> items() const {
    if (!json_.is_array()) fail("must be a list");
    std::vector<NoteField> all;
    all.reserve(json_.size());
    for (std::size_t i = 0; i < json_.size(); ++i) all.push_back(NoteField(json_[i], *this, nullptr, i));
    return all;
  }

 private:
  NoteField(const Json& json, const NoteField& parent, const char* key, std::size_t index)
      : json_(json), parent_(&parent), key_(key), index_(index) {}

  // Returns "plugins.0.options.2.type". It is made only for a message, since each start of a program reads all notes in
  // the directories.
  std::string place() const {
    if (parent_ == nullptr) return "";
    const std::string above = parent_->place(), own = key_ != nullptr ? key_ : std::to_string(index_);
    return above.empty() ? own : above + "." + own;
  }

  const Json& json_;
  const NoteField* parent_ = nullptr;  // null: the note itself
  const char* key_ = nullptr;          // null: an item of a list
  std::size_t index_ = 0;
};

inline std::string shown(std::string text) {
  constexpr std::size_t kMaxShown = 60;
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return "\"" + escaped(text) + "\"";
}

inline std::vector<std::string> texts(const NoteField& list) {
  std::vector<std::string> all;
  for (const NoteField& item : list.items()) all.push_back(item.text());
  return all;
}

}  // namespace belay::runtime
