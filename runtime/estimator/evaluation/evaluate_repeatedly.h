// SPDX-License-Identifier: Apache-2.0
// TensorFlow's evaluate_repeatedly: it evaluates the checkpoints of another run when they appear.
//
//   evaluate_repeatedly({clock, log, files}, "/runs/mnist", {.timeout_secs = 600}, [&](const std::string& checkpoint) {
//     restore_from(checkpoint);
//     const std::vector<Tensor> values = evaluation.run(session, scaffold);     // evaluate_once.h
//     return true;
//   });
//
// Checkpoints that are written during an evaluation are skipped, except the newest. A checkpoint that the run removes
// while it is read is skipped, with a line in the log. [one thread]
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "runtime/estimator/host/run_host.h"

namespace belay::runtime {

struct EvaluateRepeatedlyOptions {
  double start_delay_secs = 0;                                 // before the first look
  double eval_interval_secs = 60;                              // from the beginning of one evaluation to the next
  std::optional<std::int64_t> max_number_of_evaluations = {};  // none: no limit
  std::optional<double> timeout_secs = {};                     // as NewCheckpointsOptions has these
  std::function<bool()> on_timeout = {};
  std::function<bool()> finished = {};
  std::function<bool()> keep_going = {};
};

// Calls `evaluate` with each path. If that returns false, the sequence ends. Its errors are thrown, unless the
// checkpoint is gone. Returns the number of evaluations. RestoreError if there are checkpoints and none is whole.
std::int64_t evaluate_repeatedly(const Platform& platform, const std::string& directory,
                                 const EvaluateRepeatedlyOptions& options,
                                 const std::function<bool(const std::string& checkpoint)>& evaluate);

}  // namespace belay::runtime
