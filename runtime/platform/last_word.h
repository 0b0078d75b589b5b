// SPDX-License-Identifier: Apache-2.0
// What is done before the process ends at once, by _exit or a signal: a run's attempt notes that it did not end without
// a word (runtime/monitored/attempt_mark.h). Code that ends the process like that calls say_last_word() first; a signal
// handler may call it.
#pragma once

#include <atomic>

namespace belay::runtime {

// Null: nothing. Signal-safe; called at most once.
inline std::atomic<void (*)() noexcept> last_word{nullptr};

inline void say_last_word() noexcept {
  if (const auto say = last_word.exchange(nullptr)) say();
}

}  // namespace belay::runtime
