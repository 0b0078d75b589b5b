// SPDX-License-Identifier: Apache-2.0
// [session] of a manifest: how a session reports, ends, recovers and computes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/precision.h"

namespace belay::runtime {

struct SessionSettings {
  // The periods of the default summary_saver; with both, the first that is over. If neither is set: every 100 steps. 0:
  // off.
  std::optional<std::int64_t> save_summaries_steps = {};
  std::optional<double> save_summaries_secs = {};
  // Largest delay until a record is in the event file; a crash loses at most these seconds. A checkpoint and the end
  // write the records too. 0: no delay.
  double events_flush_secs = 120;
  // The period of the default step_counter, which logs the steps per second. 0: off.
  std::int64_t log_step_count_steps = 100;

  // How long the end of a session waits for its threads.
  double stop_grace_period_secs = 120;
  // Time limit after a signal for everything, including the last save; then the process ends. `belay run` only.
  double signal_grace_secs = 25;
  // Time limit without a step, or a phase of the start. Then the stacks are written and the process ends with status
  // 124. At half of it there is a warning. A save is progress. 0: no limit. `belay run` only.
  double no_progress_secs = 1800;

  // Number of recoveries from ABORTED and UNAVAILABLE without a new step. One more ends the session with INTERNAL, and
  // the message names that error. Runs that advance no step count by their number.
  std::int64_t max_recoveries = 10;
  // The first recovery in a row comes at once. The second comes after this pause, which then doubles, up to 60 s.
  double recovery_backoff_secs = 1;

  // For a run of several processes: hooks of its manifest that each process has. TensorFlow calls them `hooks`, and the
  // others, which only the chief has, `chief_only_hooks`. Give the instance's name, else the plugin's. `belay run`
  // only: a program sets both lists itself.
  std::vector<std::string> hooks_on_all_ranks = {};

  // Precision of products, convolutions and recurrent cells.
  Precision precision = Precision::kFloat32;

  friend bool operator==(const SessionSettings&, const SessionSettings&) = default;
};

}  // namespace belay::runtime
