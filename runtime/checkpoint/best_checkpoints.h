// SPDX-License-Identifier: Apache-2.0
// The best checkpoints of a run, by a metric of its evaluations ([checkpoint] keep_best, best_metric). [any thread]
//
// The list is in each checkpoint's state, so that a run which goes on from there has it as it was then, and in the file
// `best` of the run directory, for those who only read. The same JSON in both:
//
//   {
//    "metric": "eval/accuracy", "mode": "max",
//    "checkpoints": [
//     {"step": 900, "value": 0.975, "path": "model.ckpt-900"},
//     {"step": 700, "value": 0.973, "path": "model.ckpt-700"}
//    ]
//   }
//
// The file is replaced behind a checkpoint's rename and before the state file, so what it names was whole and is there
// until a later list lacks it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/better.h"
#include "belay/runtime/checkpoint_settings.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"

namespace belay::runtime {

// What is best, and how many are kept.
struct BestRule {
  std::int64_t keep = 0;    // 0: no list
  std::string metric = {};  // a role: "eval/loss"
  Better better = Better::kSmaller;
};

// What [checkpoint] says of the best ones. INVALID_ARGUMENT where neither best_mode nor the metric's name decides.
BestRule best_rule(const CheckpointSettings& settings);

// The list with one more, or with another value of that step: ordered, of equal values the earlier one first, at most
// rule.keep long. A value that is not finite is never best.
BestList with_checkpoint(BestList list, const BestCheckpoint& checkpoint, const BestRule& rule);
BestList without_step(BestList list, std::int64_t step);
// Null: it is not in the list.
const BestCheckpoint* find_step(const BestList& list, std::int64_t step);

std::string format_best_list(const BestList& list);
// DATA_LOSS where it is no such list. The message has `where` before the fields' names.
BestList parse_best_list(std::string_view text, const std::string& where = {});

// By the file `best`; none where the run keeps none. DATA_LOSS where the file is of no use.
std::optional<BestList> read_best_list(const OpenDirectory& run);
// The best one first; empty where the run keeps none or has evaluated none. Whether they are whole is not looked at.
std::vector<BestCheckpoint> best_checkpoints(const OpenDirectory& run);
// NOT_FOUND where the list is empty, with why it may be.
void check_has_best(const OpenDirectory& run, const BestList& list);

// The best one that is whole, opened and verified. Each that is missing or damaged is named in a warning and passed
// over. NOT_FOUND where the run keeps none or has evaluated none, RestoreError with each reason where none can be
// restored.
std::unique_ptr<CheckpointReader> find_best(const OpenDirectory& run, Logger& log);

}  // namespace belay::runtime
