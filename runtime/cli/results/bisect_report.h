// SPDX-License-Identifier: Apache-2.0
// The result of `belay bisect`, as text and as JSON. [any thread]
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/checkpoint/stored/compare_stored.h"
#include "runtime/report/run_difference.h"
#include "runtime/report/step_difference.h"

namespace belay::runtime {

struct BisectReport {
  std::string a, b;  // the directories, as they were given
  RunComparison runs;
  // Variables that differ at the first common step, if no earlier step is equal.
  std::vector<StoredDifference> variables = {};
  // The steps of the replays.
  std::optional<std::int64_t> replayed_from = {}, replayed_to = {};  // steps, of each side
  std::vector<std::string> unproved = {};                            // sides whose replay came to other bits: "a", "b"
  std::optional<std::int64_t> step = {};                             // the first that differs
  std::optional<StepDifference> tensors = {};                        // of it
};

std::string text_of(const BisectReport& report);
std::string json_of(const BisectReport& report);

}  // namespace belay::runtime
