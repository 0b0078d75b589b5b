// SPDX-License-Identifier: Apache-2.0
// Estimates how long a run takes, and how long the remaining ones will take.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

// The time of a run is the median of means over short windows, so a bursty input counts. Pauses, such as saves and
// evaluations, count apart from it. Their share of a run is known after the second one: their time, divided by the runs
// from the first to the last.
class Pace {
 public:
  // Adds the time that `runs` runs took together.
  void add(double seconds, std::int64_t runs) noexcept {
    runs_ += runs;
    window_seconds_ += seconds;
    window_runs_ += runs;
    if (window_seconds_ < kWindowSeconds) return;
    const double mean = window_seconds_ / static_cast<double>(window_runs_);
    const double usual = n_ == 0 ? mean : median();
    const double extra = window_seconds_ - usual * static_cast<double>(window_runs_);
    const bool slow = n_ >= kEnoughWindows && extra > kLeastPause && mean > 2 * usual;
    if (slow && !was_slow_) {
      note_pause(extra);
    } else {
      add_mean(mean);  // a slower pace is no pause: it comes again at once
    }
    was_slow_ = slow;
    window_seconds_ = 0;
    window_runs_ = 0;
  }
  void add_mean(double seconds) noexcept {
    means_[n_ % means_.size()] = seconds;
    ++n_;
  }
  bool known() const noexcept { return n_ > 0; }
  double median() const noexcept {
    std::array<double, 64> sorted = means_;
    const std::size_t n = std::min(n_, sorted.size());
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(n / 2);
    std::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<std::ptrdiff_t>(n));
    return *middle;
  }
  // Returns the time of a run, with its share of the pauses.
  double seconds_per_run() const noexcept {
    return median() + (last_pause_ == first_pause_ ? 0 : pauses_ / static_cast<double>(last_pause_ - first_pause_));
  }

 private:
  static constexpr double kWindowSeconds = 0.05;
  static constexpr double kLeastPause = 0.05;
  static constexpr std::size_t kEnoughWindows = 4;

  void note_pause(double seconds) noexcept {
    if (first_pause_ == 0) {
      first_pause_ = runs_;
    } else {
      pauses_ += seconds;
    }
    last_pause_ = runs_;
  }

  std::array<double, 64> means_{};
  std::size_t n_ = 0;
  double window_seconds_ = 0;
  std::int64_t window_runs_ = 0;
  bool was_slow_ = false;  // true: the last window was slow
  std::int64_t runs_ = 0;
  std::int64_t first_pause_ = 0, last_pause_ = 0;  // number of runs before the pause; 0: there was none
  double pauses_ = 0;                              // seconds of all pauses but the first
};
