// SPDX-License-Identifier: Apache-2.0
// The best checkpoints of a run, by a metric of its evaluations ([checkpoint] keep_best, best_metric). [any thread]
//
// Each checkpoint's state has the list, so a run continued from there has its list. The file `best` of the run
// directory has it for readers. Both have the same JSON:
//
//   {
//    "metric": "eval/accuracy", "mode": "max",
//    "checkpoints": [
//     {"step": 900, "value": 0.975, "path": "model.ckpt-900"},
//     {"step": 700, "value": 0.973, "path": "model.ckpt-700"}
//    ]
//   }
//
// The file is replaced after a checkpoint's rename and before the state file. So its checkpoints were whole, and they
// exist until a later list lacks them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/better.h"
#include "belay/runtime/checkpoint_settings.h"
#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

// The rule for the best ones, and their number.
struct BestRule {
  std::int64_t keep = 0;    // 0: no list
  std::string metric = {};  // a role: "eval/loss"
  Better better = Better::kSmaller;
};

// Returns the rule of [checkpoint]. INVALID_ARGUMENT: neither best_mode nor the metric's name decides.
BestRule best_rule(const CheckpointSettings& settings);

// Returns the list with one more, or with another value of that step. It is ordered, the earlier one of equal values
// first, with at most rule.keep entries. A value that is not finite is never best.
BestList with_checkpoint(BestList list, const BestCheckpoint& checkpoint, const BestRule& rule);
BestList without_step(BestList list, std::int64_t step);
// Null: it is not in the list.
const BestCheckpoint* find_step(const BestList& list, std::int64_t step);

std::string format_best_list(const BestList& list);
// DATA_LOSS: it is no such list. The message has `where` before the fields' names.
BestList parse_best_list(std::string_view text, const std::string& where = {});

// Reads the file `best`; none: the run keeps no list. DATA_LOSS: the file is of no use.
std::optional<BestList> read_best_list(const OpenDirectory& run);
// Returns the best one first; empty: the run keeps none or has evaluated none. It does not check that they are whole.
std::vector<BestCheckpoint> best_checkpoints(const OpenDirectory& run);
// NOT_FOUND: the list is empty. The message has a possible reason.
void check_has_best(const OpenDirectory& run, const BestList& list);

// Returns the best one that is whole, opened and verified. A warning names each missing or damaged one, which is
// skipped. NOT_FOUND: the run keeps none or has evaluated none. RestoreError has each reason: none can be restored.
std::unique_ptr<CheckpointReader> find_best(const OpenDirectory& run, Logger& log);

}  // namespace belay::runtime
