// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/watch/time_box.h"

#include <cstdint>

namespace belay::runtime {
TimeBox::TimeBox(double seconds, Clock& clock, std::function<void()> stop, std::function<void()> wake)
    : clock_(clock), stop_(std::move(stop)), wake_(std::move(wake)) {
  if (seconds <= 0) return;
  const std::int64_t end_ns = clock_.monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
  thread_ = std::thread([this, end_ns] { watch(end_ns); });
}

TimeBox::~TimeBox() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// Returns false if the box has ended before.
bool TimeBox::wait_until(std::int64_t ns) {
  std::unique_lock lock(mutex_);
  while (!done_ && clock_.monotonic_ns() < ns) clock_.wait_until(lock, changed_, ns);
  return !done_;
}

void TimeBox::watch(std::int64_t end_ns) {
  constexpr std::int64_t kWakeNs = 500'000'000;
  if (!wait_until(end_ns)) return;
  over_ = true;
  stop_();
  while (wait_until(clock_.monotonic_ns() + kWakeNs)) wake_();
}

}  // namespace belay::runtime
