// SPDX-License-Identifier: Apache-2.0
// JSON from an untrusted file: limited, without repeated keys, and with every field's name and kind checked. Errors are
// DATA_LOSS with the place. [any thread]
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace belay::runtime {

inline constexpr std::size_t kMaxJsonValues = 400'000;

// Limits the values and keys to `most_values`, and the levels to 16. Each value costs at most 160 bytes of memory and
// takes at least two bytes of text. So a short text is cheap.
nlohmann::json parse_json(std::string_view text, std::size_t most_values = kMaxJsonValues);

// An object whose keys are all known and present. Messages contain `where`: "files[2]". The value must outlive it.
class JsonFields {
 public:
  // `optional` has keys that may be missing.
  JsonFields(const nlohmann::json& value, std::string where, std::initializer_list<std::string_view> keys,
             std::initializer_list<std::string_view> optional = {});

  bool has(std::string_view key) const;
  const std::string& text(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;            // not negative
  std::uint64_t unsigned_integer(std::string_view key) const;  // all 64 bits
  const nlohmann::json& list(std::string_view key) const;
  const nlohmann::json& object(std::string_view key) const;
  // Returns "files[2].length", or "length" for the outermost object.
  std::string place(std::string_view key) const;

 private:
  const nlohmann::json& field(std::string_view key) const;
  [[noreturn]] void wrong(std::string_view key, const char* expected) const;

  const nlohmann::json& value_;
  std::string where_;
};

}  // namespace belay::runtime
