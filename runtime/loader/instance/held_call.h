// SPDX-License-Identifier: Apache-2.0
// Holds the thread of a CallMonitor from another thread: while it lives, that thread returns from no callback. So data
// of that thread may be used meanwhile. The callback itself continues if it can.
//
//   const HeldCall held(monitor);
//   if (held.instance() != nullptr) ...              // it is inside of that plugin's code, or waits at its end
//
// It costs a step one load. The fence is made here, on all threads at once (membarrier). Only one at a time. [any]
#pragma once

#include <string_view>

#include "runtime/loader/instance/instance.h"

namespace belay::runtime {

class HeldCall {
 public:
  explicit HeldCall(CallMonitor& monitor) noexcept;
  ~HeldCall();
  HeldCall(const HeldCall&) = delete;
  HeldCall& operator=(const HeldCall&) = delete;

  // Returns null if the thread is in no callback and so is not held, or if the kernel has no membarrier.
  const PluginInstance* instance() const noexcept { return instance_; }
  std::string_view callback() const noexcept { return callback_; }

 private:
  CallMonitor& monitor_;
  const PluginInstance* instance_ = nullptr;
  std::string_view callback_;
};

}  // namespace belay::runtime
