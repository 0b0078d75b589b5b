// SPDX-License-Identifier: Apache-2.0
// When a training stops to evaluate, and on what.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace belay::runtime {

// What an evaluation that fails does to the training: it ends it, or is a warning in the log.
enum class OnEvalError { kStop, kContinue };

struct EvalSettings {
  // Of several whichever comes first; of none: no evaluation between two steps.
  std::optional<std::int64_t> every_steps = {};  // at the multiples of it; 0: off
  std::optional<double> every_secs = {};         // so long after the last one's end; 0: off
  bool at_checkpoint = false;                    // behind each checkpoint
  std::vector<std::string> inputs = {};          // empty: each [input.eval] and [input.eval_NAME]
  std::int64_t batches = 0;                      // of each input; 0: until it ends
  double start_delay_secs = 0;                   // none before the training has run so long
  // None sooner behind the end of the one before; of kContinuousEval: behind its beginning.
  double throttle_secs = 0;
  // Of kContinuousEval: how long it waits for the next checkpoint; none: until the training has come to its end.
  std::optional<double> timeout_secs = {};
  bool at_start = true;  // two batches before the first step: what is wrong shows at once
  OnEvalError on_error = OnEvalError::kStop;

  friend bool operator==(const EvalSettings&, const EvalSettings&) = default;
};

}  // namespace belay::runtime
