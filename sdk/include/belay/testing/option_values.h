// SPDX-License-Identifier: Apache-2.0
// A plugin's options in a test, as C++ values:
//
//   const OptionValues options = {{"every_n_iter", 10}, {"scale", 0.5}, {"tensors", std::vector<std::string>{"loss"}}};
//   auto handle = options.create(host, table);
//
// An option of the plugin's table kind is given flattened: {"layers.0.units", 8}. What the plugin got is gone when
// create returns, as with the real host: a plugin that keeps a view of it reads freed memory.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "belay/testing/fake_host.h"

namespace belay {
inline namespace v0 {
namespace testing {

struct OptionValue {
  template <class T>
  OptionValue(std::string option_name, const T& value) : name(std::move(option_name)) {
    set(value);
  }

  std::string name;
  std::int32_t type = 0;
  std::vector<std::int64_t> integers;  // of BOOL and INT
  std::vector<double> floats;
  std::vector<std::string> texts;

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
                    "an option is a bool, a number, a text, or a vector of them");
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

// The same values as they cross the boundary. Valid as long as it lives.
class RawOptions {
 public:
  explicit RawOptions(std::vector<OptionValue> values) : given_(std::move(values)), texts_(given_.size()) {
    for (std::size_t i = 0; i < given_.size(); ++i) {
      const OptionValue& v = given_[i];
      for (const std::string& text : v.texts) texts_[i].push_back(detail::str(text));
      belay_value value{v.type, 0, v.integers.size(), v.integers.data()};
      const std::int32_t element = v.type & ~BELAY_VALUE_LIST;
      if (element == BELAY_VALUE_FLOAT) value.count = v.floats.size(), value.data = v.floats.data();
      if (element == BELAY_VALUE_TEXT) value.count = texts_[i].size(), value.data = texts_[i].data();
      raw_.push_back({detail::str(v.name), value});
    }
  }
  RawOptions(const RawOptions&) = delete;
  RawOptions& operator=(const RawOptions&) = delete;
  const belay_named_value* data() const noexcept { return raw_.data(); }
  std::uint64_t size() const noexcept { return raw_.size(); }

 private:
  const std::vector<OptionValue> given_;
  std::vector<std::vector<belay_str>> texts_;
  std::vector<belay_named_value> raw_;
};

class OptionValues {
 public:
  OptionValues() = default;
  OptionValues(std::initializer_list<OptionValue> values) : values_(values) {}

  // The same options with these set or replaced.
  OptionValues with(const OptionValue& value) const {
    OptionValues changed = *this;
    for (OptionValue& known : changed.values_) {
      if (known.name != value.name) continue;
      known = value;
      return changed;
    }
    changed.values_.push_back(value);
    return changed;
  }

  const std::vector<OptionValue>& all() const noexcept { return values_; }

  // An instance of the plugin behind `table`; throws what its create throws.
  template <class Api>
  Handle<Api> create(FakeHost& host, const Api* table) const {
    return create(host.api(), host.raw(), table);
  }
  template <class Api>
  Handle<Api> create(const belay_host_api* api, belay_host* host, const Api* table) const {
    const RawOptions raw(values_);
    void* self = nullptr;
    detail::Status status;
    status.check(table->create(api, host, raw.data(), raw.size(), &self, status));
    return Handle<Api>(table, self);
  }

 private:
  std::vector<OptionValue> values_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
