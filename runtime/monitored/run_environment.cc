#include "runtime/monitored/run_environment.h"

#include <condition_variable>
#include <mutex>

namespace belay::runtime {

void pause(const RunEnvironment& environment, double seconds) {
  std::mutex mutex;
  std::condition_variable changed;
  std::unique_lock lock(mutex);
  const std::int64_t until = environment.clock.monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
  const CancelToken token(environment.interrupt, environment.clock, until);
  try {
    token.wait(lock, changed, [&] { return environment.clock.monotonic_ns() >= until; });
  } catch (const Error& e) {
    if (e.code() != Code::kDeadlineExceeded) throw;
  }
}

}  // namespace belay::runtime
