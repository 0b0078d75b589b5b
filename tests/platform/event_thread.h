// SPDX-License-Identifier: Apache-2.0
// For clocks that jump, or that count who waits: the thread that writes events waits as well, until it is woken, and
// what such a clock is for is the others' waits.
#pragma once

#include <pthread.h>

#include <string_view>

namespace belay::runtime {

// Whether the calling thread writes an event file (runtime/events/event_writer.h).
inline bool is_event_thread() {
  char name[16] = "";
  ::pthread_getname_np(::pthread_self(), name, sizeof(name));
  return std::string_view(name) == "belay-events";
}

}  // namespace belay::runtime
