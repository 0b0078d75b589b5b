// SPDX-License-Identifier: Apache-2.0
// [eval] of a manifest: when a training stops to evaluate, and on which inputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace belay::runtime {

// The effect of a failed evaluation on the training: it ends the training, or is a warning in the log.
enum class OnEvalError { kStop, kContinue };

struct EvalSettings {
  // With several periods the first that is over; without any there is no evaluation between two steps.
  std::optional<std::int64_t> every_steps = {};  // at its multiples; 0: off
  std::optional<double> every_secs = {};         // after the end of the last evaluation; 0: off
  bool at_checkpoint = false;                    // after each checkpoint
  std::vector<std::string> inputs = {};          // empty: each [input.eval] and [input.eval_NAME]
  std::int64_t batches = 0;                      // of each input; 0: until it ends
  double start_delay_secs = 0;                   // no evaluation before the training has run this long
  // Shortest time from the end of one evaluation to the next; in mode kContinuousEval from its beginning.
  double throttle_secs = 0;
  // For kContinuousEval: how long it waits for the next checkpoint. Empty: until the training has ended.
  std::optional<double> timeout_secs = {};
  bool at_start = true;  // two batches before the first step, so errors show at once
  OnEvalError on_error = OnEvalError::kStop;

  friend bool operator==(const EvalSettings&, const EvalSettings&) = default;
};

}  // namespace belay::runtime
