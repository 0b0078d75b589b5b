// SPDX-License-Identifier: Apache-2.0
// What a run is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace belay::runtime {

enum class RunMode { kTrain, kEvaluate, kPredict, kTrainAndEvaluate, kContinuousEval, kExport };

struct RunSettings {
  RunMode mode = RunMode::kTrain;
  std::string dir;                        // absolute; empty: nothing is kept
  std::optional<std::int64_t> max_steps;  // last_step of the default stop_at_step; none: until the input ends
  std::uint64_t seed = 42;                // at most 2^63 - 1, as TOML has no more
  std::int64_t threads = 0;               // 0: all cores

  friend bool operator==(const RunSettings&, const RunSettings&) = default;
};

}  // namespace belay::runtime
