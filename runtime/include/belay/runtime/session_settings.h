// SPDX-License-Identifier: Apache-2.0
// Summaries, log, graces, recoveries.
#pragma once

#include <cstdint>
#include <optional>

#include "belay/runtime/precision.h"

namespace belay::runtime {

struct SessionSettings {
  std::optional<std::int64_t> save_summaries_steps;  // neither: every 100 steps; 0: off
  std::optional<double> save_summaries_secs;
  std::int64_t log_step_count_steps = 100;  // 0: off
  double stop_grace_period_secs = 120;
  double signal_grace_secs = 25;
  double no_progress_secs = 1800;  // 0: never
  std::int64_t max_recoveries = 10;
  double recovery_backoff_secs = 1;  // doubled after each recovery without progress, at most 60
  Precision precision = Precision::kFloat32;

  friend bool operator==(const SessionSettings&, const SessionSettings&) = default;
};

}  // namespace belay::runtime
