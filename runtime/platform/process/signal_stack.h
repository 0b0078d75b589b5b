// SPDX-License-Identifier: Apache-2.0
// A stack for signal handlers of the thread that makes it. Without one, an overflow of a thread's stack ends the
// process before a handler can report the place.
#pragma once

#include <signal.h>

#include <cstddef>
#include <memory>

namespace belay::runtime {

class SignalStack {
 public:
  SignalStack() : memory_(new unsigned char[kBytes]) {
    const stack_t stack{memory_.get(), 0, kBytes};
    ::sigaltstack(&stack, nullptr);
  }
  ~SignalStack() {
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    ::sigaltstack(&none, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  static constexpr std::size_t kBytes = 64 << 10;
  std::unique_ptr<unsigned char[]> memory_;
};

}  // namespace belay::runtime
