// SPDX-License-Identifier: Apache-2.0
// Tensors from a plugin's table option, whose keys the user chooses.
//
//   feed = { keep_prob = 0.5, "images:0" = [0, 0, 0, 0] }                        in the manifest
//
//   struct Options { belay::Table feed; };                                      in the plugin
//   for (std::size_t i = 0; i < options.feed.size(); ++i) {
//     const Output output = graph.find(options.feed.key(i));
//     args.feed(output, table_tensor(options.feed, i, output));                 // entry i as a value for this output
//   }
//
// A number, boolean or string becomes a scalar, or a vector of one element if the output's shape needs it. A list is
// row-major. If the output's shape is known except for one dimension, that dimension is computed. For an unknown rank
// the list is a vector.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "belay/graph.h"
#include "belay/options.h"

namespace belay {
inline namespace v0 {
namespace detail {

// Throws INVALID_ARGUMENT, with the key, its value and the expected form:
//
//   'x': a list of 5 value(s) is no value for 'x:0' (float32 [2, 3])
//   'ids': a number is no value for 'ids:0' (int64 [?])
//   'small': 300 is no value for 'small:0' (uint8 [])
[[noreturn]] inline void fail_table_value(std::string_view key, const Output& output, const std::string& what) {
  fail(Code::kInvalidArgument, "'" + std::string(key) + "': " + what + " is no value for " + output.text());
}

// Returns the shape of `count` values for this output, or throws if they cannot fill it. [?, 2] and 6 values: [3, 2].
// [?, ?] is an error for any number, because several shapes are possible.
inline Dims table_tensor_dims(std::string_view key, const Output& output, std::uint64_t count, bool is_list) {
  const auto n = static_cast<std::int64_t>(count);
  if (output.rank() < 0) return is_list ? Dims{n} : Dims{};
  Dims dims = output.dims();
  std::int64_t known = 1;
  std::int64_t* unknown = nullptr;
  int unknowns = 0;
  for (std::int64_t& d : dims) {
    if (d < 0) {
      unknown = &d;
      ++unknowns;
    } else {
      known *= d;
    }
  }
  if (unknowns == 1 && known > 0 && n % known == 0) *unknown = n / known;
  const bool fits = unknowns == 0 ? known == n : unknowns == 1 && known > 0 && n % known == 0;
  if (!fits) fail_table_value(key, output, (is_list ? "a list of " : "") + std::to_string(n) + " value(s)");
  return dims;
}

// Sets an integer of a dtype smaller than the option's 64 bits. INVALID_ARGUMENT: the value does not fit.
template <class T>
void put_integer(Tensor& tensor, std::size_t i, std::int64_t v, std::string_view key, const Output& output) {
  if (v < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
      v > static_cast<std::int64_t>(std::numeric_limits<T>::max()))
    fail_table_value(key, output, std::to_string(v));
  tensor.data<T>()[i] = static_cast<T>(v);
}

}  // namespace detail

// Returns entry `entry` of the table as a tensor of the output's dtype, a copy.
//
//   in the table              for float32 [2, 2]      for int64 []      for string of unknown rank
//   1                         an error                1                 an error
//   [1, 2, 3, 4]              [[1, 2], [3, 4]]        an error          an error
//   "a"                       an error                an error          "a"
//
// Integers and floats become float32 or float64; integers int64, int32 or uint8; booleans bool; strings string.
// INVALID_ARGUMENT, with the key and the output: any other pair, a number out of range, or too many or too few values.
inline Tensor table_tensor(const Table& table, std::size_t entry, const Output& output) {
  const belay_value& value = table.value(entry);
  const std::string_view key = table.key(entry);
  const std::int32_t type = value.type & ~BELAY_VALUE_LIST;
  const DType dtype = output.dtype();
  Tensor tensor(dtype, detail::table_tensor_dims(key, output, value.count, (value.type & BELAY_VALUE_LIST) != 0));
  const auto* ints = static_cast<const std::int64_t*>(value.data);
  const auto* floats = static_cast<const double*>(value.data);
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    const bool is_int = type == BELAY_VALUE_INT;
    if (dtype == DType::kFloat32 && (is_int || type == BELAY_VALUE_FLOAT)) {
      tensor.data<float>()[i] = static_cast<float>(is_int ? static_cast<double>(ints[i]) : floats[i]);
    } else if (dtype == DType::kFloat64 && (is_int || type == BELAY_VALUE_FLOAT)) {
      tensor.data<double>()[i] = is_int ? static_cast<double>(ints[i]) : floats[i];
    } else if (dtype == DType::kInt64 && is_int) {
      tensor.data<std::int64_t>()[i] = ints[i];
    } else if (dtype == DType::kInt32 && is_int) {
      detail::put_integer<std::int32_t>(tensor, i, ints[i], key, output);
    } else if (dtype == DType::kUInt8 && is_int) {
      detail::put_integer<std::uint8_t>(tensor, i, ints[i], key, output);
    } else if (dtype == DType::kBool && type == BELAY_VALUE_BOOL) {
      tensor.data<bool>()[i] = ints[i] != 0;
    } else if (dtype == DType::kString && type == BELAY_VALUE_TEXT) {
      tensor.set_text(i, detail::view(static_cast<const belay_str*>(value.data)[i]));
    } else {
      detail::fail_table_value(key, output,
                               type == BELAY_VALUE_BOOL    ? "a boolean"
                               : type == BELAY_VALUE_INT   ? "an integer"
                               : type == BELAY_VALUE_FLOAT ? "a number"
                                                           : "a string");
    }
  }
  return tensor;
}

}  // namespace v0
}  // namespace belay
