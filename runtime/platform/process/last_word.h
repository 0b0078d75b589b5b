// SPDX-License-Identifier: Apache-2.0
// The last action before the process ends at once, by _exit or a signal. For example, a run's attempt notes
// that it ended in this way (runtime/monitored/run/attempt_mark.h). Code that ends the process in such a way first
// calls say_last_word(). A signal handler may call it.
#pragma once

#include <atomic>

namespace belay::runtime {

// Null: nothing. It is signal-safe and called at most once.
inline std::atomic<void (*)() noexcept> last_word{nullptr};

inline void say_last_word() noexcept {
  if (const auto say = last_word.exchange(nullptr)) say();
}

}  // namespace belay::runtime
