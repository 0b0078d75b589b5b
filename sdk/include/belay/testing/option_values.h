// SPDX-License-Identifier: Apache-2.0
// A plugin's options in a test, as C++ values:
//
//   const OptionValues options = {{"every_n_iter", 10}, {"scale", 0.5}, {"tensors", std::vector<std::string>{"loss"}}};
//   auto handle = options.create(host, table);
//
// The values that the plugin got are freed when create returns, as with the real host. So a plugin that keeps a view of
// them reads freed memory.
#pragma once

#include <initializer_list>
#include <vector>

#include "belay/option_value.h"
#include "belay/testing/fake_host.h"

namespace belay {
inline namespace v0 {
namespace testing {

using belay::OptionValue;
using detail::RawOptions;

class OptionValues {
 public:
  OptionValues() = default;
  OptionValues(std::initializer_list<OptionValue> values) : values_(values) {}

  // Returns the same options with this one set or replaced.
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

  // Makes an instance of the plugin of `table`; throws the error of its create.
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
