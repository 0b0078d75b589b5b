// SPDX-License-Identifier: Apache-2.0
// Options in the form for a plugin: named values with their memory. It also converts them back.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "belay/abi.h"
#include "runtime/loader/note/note.h"

namespace belay::runtime {

// Moving it keeps the pointers valid.
class OptionValues {
 public:
  OptionValues() = default;
  OptionValues(OptionValues&&) = default;
  OptionValues& operator=(OptionValues&&) = default;
  OptionValues(const OptionValues&) = delete;
  OptionValues& operator=(const OptionValues&) = delete;

  // Adds `value` unchanged. An empty list takes `type` for its elements.
  void add(const std::string& name, const OptionValue& value, OptionType type);

  // Valid until the next add.
  const belay_named_value* data() const noexcept { return values_.data(); }
  std::uint64_t size() const noexcept { return values_.size(); }

 private:
  template <class T>
  const void* keep(std::deque<std::vector<T>>& blocks, std::vector<T> values);
  belay_str keep_text(const std::string& text);

  std::vector<belay_named_value> values_;
  std::deque<std::string> texts_;
  std::deque<std::vector<std::int64_t>> integers_;
  std::deque<std::vector<double>> numbers_;
  std::deque<std::vector<belay_str>> strings_;
};

// Copies a plugin's value. INVALID_ARGUMENT: a tensor, an unknown type, or a missing value.
OptionValue option_value(const belay_value& value);

}  // namespace belay::runtime
