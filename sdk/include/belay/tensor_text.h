// SPDX-License-Identifier: Apache-2.0
// A tensor as text for people, for log lines.
//
//   host().info("weights = " + belay::tensor_text(values[weights_], 6));
//
//   float32 scalar                 0.6931472
//   int64 [3]                      [1, 2, 3]
//   float32 [2, 2], at most 3      [[1, 2], [3, ...]]
//   string [2]                     ["one", "two"]
//   bool [2]                       [true, false]
//   float32 [0]                    []
//   an operation                   (no value)
//
// Numbers have enough digits to distinguish them from their neighbours of the same dtype, so they read back exactly.
// bfloat16 and float16 have four digits. Strings are in quotes; a long string shows its first 64 bytes and "...". After
// `max_elements` elements the rest is "...". The text is the same in every locale.
//
// rounded_text is for a number in a message, with six digits. exact_text is for a number that is read back.
#pragma once

#include <charconv>
#include <cstddef>
#include <string>

#include "belay/tensor.h"

namespace belay {
inline namespace v0 {
namespace detail {

// Appends a number by std::to_chars, which uses no locale and does not allocate.
template <class T, class... Format>
void append_number(std::string& out, T value, Format... format) {
  char text[48];
  out.append(text, std::to_chars(text, text + sizeof(text), value, format...).ptr);
}

// Appends element i in row-major order. It copies the bytes of strings unchanged: the display must escape them.
inline void append_element(std::string& out, const TensorView& t, std::size_t i) {
  // Limit for a string in bytes; it may cut a character of several bytes.
  constexpr std::size_t kLongestText = 64;
  switch (t.dtype()) {
    case DType::kFloat32: return append_number(out, static_cast<float>(t.number(i)));
    case DType::kFloat64: return append_number(out, t.number(i));
    case DType::kBFloat16:
    case DType::kFloat16: return append_number(out, t.number(i), std::chars_format::general, 4);
    case DType::kInt64: return append_number(out, t.data<const std::int64_t>()[i]);
    case DType::kBool: out += t.number(i) != 0 ? "true" : "false"; return;
    case DType::kString: {
      const std::string_view text = t.text(i);
      out += '"';
      out += text.substr(0, kLongestText);
      out += text.size() > kLongestText ? "...\"" : "\"";
      return;
    }
    default: return append_number(out, static_cast<std::int64_t>(t.number(i)));
  }
}

// Appends elements [next, ...) of one sub-tensor, with its brackets; one call for each dimension. `left` is the number
// of elements that may still be shown. False: it is used up, so the outer calls close their brackets and stop.
inline bool append_elements(std::string& out, const TensorView& t, std::int32_t axis, std::size_t& next,
                            std::size_t& left) {
  if (axis == t.rank()) {
    append_element(out, t, next++);
    --left;
    return true;
  }
  out += '[';
  bool whole = true;
  for (std::int64_t i = 0; whole && i < t.dim(axis); ++i) {
    if (i != 0) out += ", ";
    if (left == 0) {
      out += "...";
      whole = false;
    } else {
      whole = append_elements(out, t, axis + 1, next, left);
    }
  }
  out += ']';
  return whole;
}

}  // namespace detail

// Formats `value` with at most `digits` (1 to 17) significant digits, like printf's %g: "0.693147", "1e-05", "nan". It
// uses a dot in every locale.
inline std::string rounded_text(double value, int digits = 6) {
  std::string out;
  detail::append_number(out, value, std::chars_format::general, digits);
  return out;
}

// Formats `value` with the fewest digits that read back to the same number: "0.1", "1e+22", "nan". It uses a dot in
// every locale.
inline std::string exact_text(double value) {
  std::string out;
  detail::append_number(out, value);
  return out;
}

// Formats the elements, nested by dimensions. A scalar has no brackets, an empty tensor is "[]", the value of an
// operation "(no value)". max_elements 0 counts as 1. It allocates the string, so use it in few steps, not in each.
inline std::string tensor_text(const TensorView& t, std::size_t max_elements = 10) {
  if (!t.has_value()) return "(no value)";
  std::string out;
  std::size_t next = 0, left = max_elements == 0 ? 1 : max_elements;
  detail::append_elements(out, t, 0, next, left);
  return out;
}

}  // namespace v0
}  // namespace belay
