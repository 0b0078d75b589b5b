// SPDX-License-Identifier: Apache-2.0
// How long a run takes, and how long the rest of them will.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

// What happens now and then, a save or an evaluation, is kept apart from what each run takes: the median of means over
// short windows, so that the waits of an input that comes in bursts count. What it adds to each run is known once it
// has happened twice: then it is what it took, over the runs from the first time to the last.
class Pace {
 public:
  // So many runs took so long together.
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
      add_mean(mean);  // a slower pace from now on is no pause: it comes again at once
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
  // Of a run, with its share of what happens now and then.
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
  bool was_slow_ = false;  // the last window
  std::int64_t runs_ = 0;
  std::int64_t first_pause_ = 0, last_pause_ = 0;  // behind which run; 0: there was none
  double pauses_ = 0;                              // seconds, all but the first
};
