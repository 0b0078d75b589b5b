// SPDX-License-Identifier: Apache-2.0
// The options of a run that are not in its manifest.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/cluster/launcher.h"
#include "runtime/estimator/resume/resume_check.h"
#include "runtime/estimator/steps/replay_task.h"

namespace belay::runtime {

struct PreparedRunOptions {
  bool from_scratch = false;  // checkpoints of the directory are moved aside, not restored
  ResumeOptions resume = {};
  std::shared_ptr<const ReplayTask> replay = {};  // null: a run of its own, not steps of another one
  std::int64_t most_eval_batches = 0;             // of each pass, whatever eval.batches says; 0: as that says
  std::optional<LaunchedPlace> place = {};        // what a program says of it; none: as the launcher's variables say
};

}  // namespace belay::runtime
