// SPDX-License-Identifier: Apache-2.0
// Service "state": a hook's state as a map. HookDriver uses it; a test sees the map only.
#pragma once

#include <string>
#include <utility>

#include "belay/testing/fake_host.h"
#include "belay/testing/stored_value.h"

namespace belay {
inline namespace v0 {
namespace testing {

class FakeState {
 public:
  static void offer(FakeHost& host) { host.set_service("state", &kState); }

  explicit FakeState(FakeHost& host, StoredState values = {}) : host_(host), values_(std::move(values)) {}
  const StoredState& values() const noexcept { return values_; }
  belay_state* raw() noexcept { return reinterpret_cast<belay_state*>(this); }

 private:
  static FakeState& from(belay_state* raw) noexcept { return *reinterpret_cast<FakeState*>(raw); }
  static std::int32_t put(belay_state* raw, belay_str key, const belay_value* value, belay_status* status) {
    return detail::guard(status, [&] {
      FakeState& self = from(raw);
      self.host_.require_thread("state.put");
      if ((value->type & ~BELAY_VALUE_LIST) == BELAY_VALUE_TENSOR)
        fail(Code::kInvalidArgument,
             "state '" + std::string(detail::view(key)) + "' is a tensor; store its elements as a list");
      self.values_.insert_or_assign(std::string(detail::view(key)), StoredValue::copy(*value));
    });
  }
  static std::int32_t get(belay_state* raw, belay_str key, belay_value* value, belay_status* status) {
    return detail::guard(status, [&] {
      FakeState& self = from(raw);
      self.host_.require_thread("state.get");
      const auto it = self.values_.find(std::string(detail::view(key)));
      if (it == self.values_.end()) fail(Code::kNotFound, "the state has no '" + std::string(detail::view(key)) + "'");
      *value = it->second.raw();
    });
  }
  static constexpr belay_state_service kState{sizeof(belay_state_service), 0, &FakeState::put, &FakeState::get};

  FakeHost& host_;
  StoredState values_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
