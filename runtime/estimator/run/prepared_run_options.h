// SPDX-License-Identifier: Apache-2.0
// The options of a run outside of its manifest.
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
  std::shared_ptr<const ReplayTask> replay = {};  // null: an ordinary run, not steps of another one
  std::int64_t most_eval_batches = 0;             // of each pass, whatever eval.batches is; 0: eval.batches
  std::optional<LaunchedPlace> place = {};        // the place set by a program; none: that of the launcher's
                                                  // variables
};

}  // namespace belay::runtime
