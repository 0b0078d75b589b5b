// SPDX-License-Identifier: Apache-2.0
// How a session reports, ends, recovers and computes. [session] of a manifest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "belay/runtime/precision.h"

namespace belay::runtime {

struct SessionSettings {
  // The periods of the default summary_saver; with both, whichever comes first. Neither is set: every 100 steps. 0:
  // off.
  std::optional<std::int64_t> save_summaries_steps = {};
  std::optional<double> save_summaries_secs = {};
  // What is added to the event file is in it after so long at the latest; a crash loses no more than that. A checkpoint
  // and the end bring it there as well. 0: at once.
  double events_flush_secs = 120;
  // The period of the default step_counter, which logs the steps per second. 0: off.
  std::int64_t log_step_count_steps = 100;

  // How long the end of a session waits for its threads.
  double stop_grace_period_secs = 120;
  // After a signal everything, the last save included, has this long; then the process ends. `belay run` only.
  double signal_grace_secs = 25;
  // Without a step, or a phase of the start, for so long, the stacks are written and the process ends with status 124;
  // a warning at half of it. A save is progress. 0: never. `belay run` only.
  double no_progress_secs = 1800;

  // Recoveries from ABORTED and UNAVAILABLE without a step beyond all that were committed before; one more ends the
  // session with INTERNAL, which names that error. Runs that move no step count by their number.
  std::int64_t max_recoveries = 10;
  // The first recovery in a row comes at once, the second after this pause, which doubles from then on, up to 60 s.
  double recovery_backoff_secs = 1;

  // Of a run of several processes, hooks of its manifest that each of them has; TensorFlow calls them `hooks`, and all
  // others, which the chief has, `chief_only_hooks`. By the instance's name, else the plugin's. `belay run` only: a
  // program gives both lists itself.
  std::vector<std::string> hooks_on_all_ranks = {};

  // Of products, convolutions and recurrent cells.
  Precision precision = Precision::kFloat32;

  friend bool operator==(const SessionSettings&, const SessionSettings&) = default;
};

}  // namespace belay::runtime
