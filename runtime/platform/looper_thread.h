// SPDX-License-Identifier: Apache-2.0
// A thread that calls a function again and again until its coordinator stops: at once, then at a fixed rate from the
// start (a slow call is followed at once by the ones that are overdue), or back to back where the interval is 0.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "runtime/platform/coordinator.h"

namespace belay::runtime {

class LooperThread {
 public:
  // What runs in the thread: start_loop once, run_loop per interval, and behind a stop stop_loop once. What one of them
  // throws ends the thread, without stop_loop.
  struct Loop {
    std::function<void()> run_loop;
    std::function<void()> start_loop = {};
    std::function<void()> stop_loop = {};
  };

  // Starts it, registered with the coordinator. What the functions throw is reported there.
  static std::shared_ptr<Joinable> start(Coordinator& coordinator, double interval_secs, Loop loop,
                                         const std::string& name = "looper");
};

}  // namespace belay::runtime
