// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/run/run_environment.h"

namespace belay::runtime {

void Pause::wait(const RunEnvironment& environment, double seconds) {
  std::unique_lock lock(mutex_);
  const std::int64_t until = environment.clock.monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
  const CancelToken token(environment.interrupt, environment.clock, until);
  try {
    token.wait(lock, changed_, [&] { return reason_ || environment.clock.monotonic_ns() >= until; });
  } catch (const Error& e) {
    if (e.code() != Code::kDeadlineExceeded) throw;
  }
  if (reason_) throw Error(*reason_);
}

void Pause::end(const Error& reason) {
  const std::lock_guard lock(mutex_);
  if (!reason_) reason_ = reason;
  changed_.notify_all();
}

void Pause::reset() {
  const std::lock_guard lock(mutex_);
  reason_.reset();
}

}  // namespace belay::runtime
