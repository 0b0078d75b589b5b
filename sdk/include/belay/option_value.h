// SPDX-License-Identifier: Apache-2.0
// A plugin's option as a C++ value: a bool, a number, a string, or a list of them. An option of the table kind is
// flattened: {"layers.0.units", 8}.
//
//   model.hook({"logging_tensor", {{"every_n_iter", 10}, {"tensors", std::vector<std::string>{"loss"}}}});
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "belay/error.h"

namespace belay {
inline namespace v0 {

// One option with its value. It owns both. The host checks name and type against the plugin's note.
struct OptionValue {
  // `value`: bool, an integer, a floating-point number, a string, or a std::vector of one of these.
  template <class T>
  OptionValue(std::string option_name, const T& value) : name(std::move(option_name)) {
    set(value);
  }

  std::string name;
  std::int32_t type = 0;               // of BELAY_VALUE_...
  std::vector<std::int64_t> integers;  // for BOOL and INT
  std::vector<double> floats;          // for FLOAT
  std::vector<std::string> texts;      // for TEXT

 private:
  template <class T>
  void set(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      type = BELAY_VALUE_BOOL, integers.push_back(value ? 1 : 0);
    } else if constexpr (std::is_integral_v<T>) {
      type = BELAY_VALUE_INT, integers.push_back(static_cast<std::int64_t>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      type = BELAY_VALUE_FLOAT, floats.push_back(static_cast<double>(value));
    } else {
      static_assert(std::is_convertible_v<T, std::string>,
                    "an option is a bool, a number, a string, or a vector of them");
      type = BELAY_VALUE_TEXT, texts.push_back(value);
    }
  }
  template <class T>
  void set(const std::vector<T>& values) {
    for (const auto& value : values) set(static_cast<T>(value));
    type = BELAY_VALUE_LIST + (std::is_same_v<T, bool>       ? BELAY_VALUE_BOOL
                               : std::is_integral_v<T>       ? BELAY_VALUE_INT
                               : std::is_floating_point_v<T> ? BELAY_VALUE_FLOAT
                                                             : BELAY_VALUE_TEXT);
  }
};

namespace detail {

// The same values in the form of the boundary. The views are valid as long as the object.
class RawOptions {
 public:
  explicit RawOptions(std::vector<OptionValue> values) : given_(std::move(values)), texts_(given_.size()) {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const OptionValue& v = given_[i];
      for (const std::string& text : v.texts) texts_[i].push_back(str(text));
      belay_value value{v.type, 0, v.integers.size(), v.integers.data()};
      const std::int32_t element = v.type & ~BELAY_VALUE_LIST;
      if (element == BELAY_VALUE_FLOAT) value.count = v.floats.size(), value.data = v.floats.data();
      if (element == BELAY_VALUE_TEXT) value.count = texts_[i].size(), value.data = texts_[i].data();
      raw_.push_back({str(v.name), value});
    }
  }
  RawOptions(const RawOptions&) = delete;
  RawOptions& operator=(const RawOptions&) = delete;
  // The entries as an array of size(). Valid as long as the object.
  const belay_named_value* data() const noexcept { return raw_.data(); }
  std::uint64_t size() const noexcept { return raw_.size(); }

 private:
  const std::vector<OptionValue> given_;
  std::vector<std::vector<belay_str>> texts_;
  std::vector<belay_named_value> raw_;
};

}  // namespace detail
}  // namespace v0
}  // namespace belay
