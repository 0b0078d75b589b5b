// SPDX-License-Identifier: Apache-2.0
// Service "state": the values of a hook in checkpoints. A belay_state points to a HookStateAccess during one call of
// save_state or load_state. [session]
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "belay/abi.h"
#include "runtime/checkpoint/read/run_state.h"

namespace belay::runtime {

class HookStateAccess {
 public:
  // For save_state. `before` is this hook's state of the last save. Its tensors' memory is used again if nothing else
  // holds it. `total`: the growing cost of this save's states.
  HookStateAccess(HookState before, StateCost& total) : before_(std::move(before)), total_(&total) {}
  // For load_state. The state must outlive the object.
  explicit HookStateAccess(const HookState& stored) : stored_(&stored) {}
  HookStateAccess(const HookStateAccess&) = delete;
  HookStateAccess& operator=(const HookStateAccess&) = delete;

  belay_state* handle() noexcept { return reinterpret_cast<belay_state*>(this); }
  // Called after save_state.
  HookState take() { return std::move(written_); }
  // Called in save_state. It is the hook's error if it wrote outside of its tensors.
  void check_guards() const;

 private:
  friend struct StateService;
  // A value that get returned, kept until the callback returns.
  struct Given {
    const StateTensor* of = nullptr;
    std::int64_t flag = 0;
    std::vector<belay_str> texts = {};
    std::shared_ptr<const void> elements = {};
    belay_tensor tensor = {};
  };

  bool saving() const noexcept { return stored_ == nullptr; }
  const HookState& state() const noexcept { return saving() ? written_ : *stored_; }
  void require_saving(const char* slot) const;
  void take_room(std::string_view key, const StateValue& value, const StateValue* replaced);
  void put(std::string_view key, const belay_value& value);
  belay_value get(std::string_view key);
  belay_value given_tensor(const StateTensor& tensor);
  const StateTensor& tensor(std::string_view key, DType dtype, std::int32_t rank, const std::int64_t* dims);
  const StateTensor& new_tensor(std::string_view key, DType dtype, std::int32_t rank, const std::int64_t* dims);
  belay_str key(std::uint64_t i);

  HookState before_, written_;
  StateCost* total_ = nullptr;
  const HookState* stored_ = nullptr;
  std::deque<Given> given_;
  std::vector<belay_str> keys_;  // set after they were asked for
};

// The table of service "state".
const belay_state_service* state_service() noexcept;

}  // namespace belay::runtime
