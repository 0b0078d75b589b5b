// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/threads/looper_thread.h"

#include <algorithm>
#include <cmath>

namespace belay::runtime {

std::shared_ptr<Joinable> LooperThread::start(Coordinator& coordinator, double interval_secs, Loop loop,
                                              const std::string& name) {
  if (!loop.run_loop) fail(Code::kInvalidArgument, "a looper thread needs a function to call");
  if (!(interval_secs >= 0) || std::isinf(interval_secs))
    fail(Code::kInvalidArgument, "a looper thread's interval must be >= 0 seconds and finite");
  return coordinator.start_thread(name, [&coordinator, interval_secs, loop = std::move(loop)] {
    coordinator.stop_on_exception([&] {
      if (loop.start_loop) loop.start_loop();
      Clock& clock = coordinator.clock();
      const auto interval = static_cast<std::int64_t>(std::min(interval_secs, 1e9) * 1e9);  // 30 years are enough
      std::int64_t next = clock.monotonic_ns();
      while (!coordinator.should_stop()) {
        if (interval > 0) {
          const std::int64_t wait = next - clock.monotonic_ns();
          if (wait > 0 && coordinator.wait_for_stop(wait)) break;
          next += interval;
        }
        loop.run_loop();
      }
      if (loop.stop_loop) loop.stop_loop();
    });
  });
}

}  // namespace belay::runtime
