// SPDX-License-Identifier: Apache-2.0
// When to save, and how many checkpoints to keep.
#pragma once

#include <cstdint>
#include <optional>

namespace belay::runtime {

enum class OnSaveError { kContinue, kStop };

struct CheckpointSettings {
  std::optional<double> save_secs;         // neither: every 600 s; 0: off
  std::optional<std::int64_t> save_steps;  // both: whichever comes first
  std::int64_t max_to_keep = 5;            // 0: all
  OnSaveError on_save_error = OnSaveError::kContinue;
  bool refuse_non_finite = true;  // a state with NaN or infinity is not saved; the run ends with status 4

  friend bool operator==(const CheckpointSettings&, const CheckpointSettings&) = default;
};

}  // namespace belay::runtime
