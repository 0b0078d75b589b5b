// SPDX-License-Identifier: Apache-2.0
// A thread that calls a function again and again until its coordinator stops. The first call is at once, the others at
// a fixed rate from the start. After a slow call the overdue ones follow at once. With an interval of 0 there is no
// pause.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/platform/threads/coordinator.h"

namespace belay::runtime {

class LooperThread {
 public:
  // The functions of the thread: start_loop once, run_loop per interval, and stop_loop once after a stop. An exception
  // ends the thread without stop_loop.
  struct Loop {
    std::function<void()> run_loop;
    std::function<void()> start_loop = {};
    std::function<void()> stop_loop = {};
  };

  // Starts it, registered with the coordinator, which gets exceptions of the functions.
  static std::shared_ptr<Joinable> start(Coordinator& coordinator, double interval_secs, Loop loop,
                                         const std::string& name = "looper");
};

}  // namespace belay::runtime
