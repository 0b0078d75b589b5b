// SPDX-License-Identifier: Apache-2.0
// The start of a replay of a run's step, and its proof. Both are read from the run's directory, which may be in use.
//
//   const ReplayPlan plan = plan_replay(*files.open_directory(dir), 1337, 1337, log);
//   ... a run from plan.checkpoint with plan.manifest, to plan.until() ...
//
// metrics.jsonl shows which attempt made each step: an attempt that starts at a step makes all later ones again.
// manifest-000K.toml is the manifest of attempt K. Without metrics.jsonl the newest manifest is taken. [any thread]
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

// A session of a run, as metrics.jsonl has it.
struct MadeSteps {
  std::int64_t attempt = 0;
  std::int64_t from = 0;  // it started after this step
  std::int64_t to = 0;    // the last one that has a line
};
struct StepDigest {
  std::int64_t step = 0;
  std::string digest;
};
// The lines of metrics.jsonl about the sessions and their steps. A line that is no object, or of another kind, is
// skipped.
struct RunHistory {
  std::vector<MadeSteps> sessions;  // in their order
  std::vector<StepDigest> digests;  // by step; of those steps that no later session made again
  std::int64_t last_step = 0;
};
RunHistory read_history(std::string_view metrics);
// The names of a run's checkpoints by step, whole or not.
std::map<std::int64_t, std::string> checkpoints_of(const OpenDirectory& run);
// The past of a run, from its directory: the names of its checkpoints by step, and the lines of metrics.jsonl. This
// file is read from its beginning to its end. NOT_FOUND if it has neither.
struct RunPast {
  std::map<std::int64_t, std::string> checkpoints;
  RunHistory history;
  std::int64_t last_step() const {  // as far as is known
    return std::max(history.last_step, checkpoints.empty() ? 0 : checkpoints.rbegin()->first);
  }
};
RunPast read_past(const OpenDirectory& run);
// The session that made this step as the run has it now; null: it is not known.
const MadeSteps* who_made(const RunHistory& history, std::int64_t step);

struct ReplayPlan {
  std::unique_ptr<CheckpointReader> checkpoint;  // the newest whole one before `first`
  std::string manifest_file;                     // path of the attempt's manifest
  std::string manifest;
  std::int64_t attempt = 0;  // 0: not known
  std::int64_t first = 0, last = 0;
  // The proof at `last` or after it: a whole checkpoint, or the digest of an earlier step. Neither: there is none.
  std::unique_ptr<CheckpointReader> proof;
  std::optional<StepDigest> digest;

  std::int64_t until() const { return proof != nullptr ? proof->state().global_step : digest ? digest->step : last; }
};

// Damaged checkpoints are skipped with a warning. NOT_FOUND: there is no run, no manifest, or no checkpoint before
// `first`. OUT_OF_RANGE: the run has not made these steps.
ReplayPlan plan_replay(const OpenDirectory& run, std::int64_t first, std::int64_t last, Logger& log);

// Plans all steps after the newest whole checkpoint before step `before`. `last` is the last step that the run is known
// to have made, and nothing proves it. NOT_FOUND as above.
ReplayPlan plan_search(const OpenDirectory& run, std::int64_t before, Logger& log);

}  // namespace belay::runtime
