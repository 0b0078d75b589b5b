// SPDX-License-Identifier: Apache-2.0
// Checks data that the other side passes by pointer and length, in a call or as its result. It refuses visible errors
// by name before the data is read.
//
//   check_list("inputs", def.inputs, def.n_inputs);   // "n_inputs = 3, and inputs is null"
//   check_text("op", def.op);                         // "op has 7 bytes, and its data is null"
#pragma once

#include <cstdint>
#include <string>

#include "belay/error.h"

namespace belay {
inline namespace v0 {
namespace detail {

inline constexpr std::uint64_t kMostItems = 1 << 20;                     // of one list
inline constexpr std::uint64_t kMostTextBytes = std::uint64_t{1} << 40;  // of one belay_str

[[noreturn]] inline void fail_list(const char* what, std::uint64_t n, const char* verb) {
  fail(Code::kInvalidArgument,
       std::string(verb) + "n_" + what + " = " + std::to_string(n) +
           (n > kMostItems ? ", more than " + std::to_string(kMostItems) : ", and " + std::string(what) + " is null"));
}
// `verb` begins the message if a callback returned the list: "it returned ".
inline void check_list(const char* what, const void* list, std::uint64_t n, const char* verb = "") {
  if (n > kMostItems || (n != 0 && list == nullptr)) fail_list(what, n, verb);
}

inline void check_text(const std::string& what, belay_str text) {
  if (text.size > kMostTextBytes)
    fail(Code::kInvalidArgument, what + " has " + std::to_string(text.size) + " bytes, more than there can be");
  if (text.size != 0 && text.data == nullptr)
    fail(Code::kInvalidArgument, what + " has " + std::to_string(text.size) + " bytes, and its data is null");
}

// Checks type and length of a value, and its strings. The caller checks the meaning of the elements.
inline void check_value(const std::string& what, const belay_value& value) {
  const bool list = (value.type & BELAY_VALUE_LIST) != 0;
  if (!list && value.count != 1)
    fail(Code::kInvalidArgument, what + " is one value, and has count = " + std::to_string(value.count));
  constexpr std::uint64_t kMostElements = std::uint64_t{1} << 32;
  if (value.count > kMostElements)
    fail(Code::kInvalidArgument, what + " has count = " + std::to_string(value.count) + ", more than there can be");
  if (value.count != 0 && value.data == nullptr)
    fail(Code::kInvalidArgument, what + " has count = " + std::to_string(value.count) + ", and its data is null");
  if ((value.type & ~BELAY_VALUE_LIST) != BELAY_VALUE_TEXT) return;
  const auto* texts = static_cast<const belay_str*>(value.data);
  for (std::uint64_t i = 0; i < value.count; ++i) check_text(what, texts[i]);
}

}  // namespace detail
}  // namespace v0
}  // namespace belay
