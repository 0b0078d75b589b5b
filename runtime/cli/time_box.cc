// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/time_box.h"

#include <charconv>
#include <cstdint>

namespace belay::runtime {
namespace {

double unit_seconds(char unit) noexcept {
  switch (unit) {
    case 's': return 1;
    case 'm': return 60;
    case 'h': return 3600;
    case 'd': return 86400;
    default: return 0;
  }
}

}  // namespace

double parse_duration(std::string_view text) noexcept {
  constexpr double kMost = 10 * 365.25 * 86400;
  double seconds = 0;
  while (!text.empty()) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || !(number >= 0)) return 0;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    const double unit = text.empty() ? 1 : unit_seconds(text[0]);
    if (unit == 0) return 0;
    seconds += number * unit;
    if (!text.empty()) text.remove_prefix(1);
  }
  return seconds <= kMost ? seconds : 0;
}

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

// False: the box has ended before.
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
